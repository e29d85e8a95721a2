"""Registering a table: a file is sent once, looked at, what was found is corrected, and then it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Query, Request, Response

from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.incoming.tables import BodyHere, ReadingHere
from app.model import ColumnWish, Kind
from app.portal.owner import waiting_files
from app.portal.owner.column_wishes import told_wishes
from app.portal.owner.owning import PREFIX, require_owner
from app.portal.owner.waiting_files import FileId
from app.portal.rendering import page
from app.portal.visits import Page
from app.service.datasets.arriving import register
from app.service.resources import Resources
from app.tables.bodies.encoding import Readable
from app.tables.columns.kinds import wished_storage
from app.tables.reading import read_batches
from app.tables.reading_as import FOUND_OUT, ReadingWishes
from app.tables.stream import TableStream

router = APIRouter(
    prefix=f"{PREFIX}/new",
    route_class=Page,
    include_in_schema=False,
    dependencies=[Depends(require_owner)],
)

Wishes = Annotated[str, Query(alias="columns", max_length=60_000)]
Name = Annotated[str, Query(max_length=1_000)]
Key = Annotated[str, Query(max_length=10_000)]


@router.get("")
def show_form(request: Request, resources: ResourcesHere) -> Response:
    """Where a file is dropped."""
    limit = resources.limits.upload_bytes
    return page(
        request,
        "owner/new.html",
        title="Register a table",
        limit_bytes=limit,
        found_out=FOUND_OUT,
    )


@router.post("/file")
def take_file(resources: ResourcesHere, ask: AskHere, body: BodyHere) -> Response:
    """Have a file wait, sealed, until it was looked at."""
    said = {"file": waiting_files.keep(resources, ask, body)}
    return Response(orjson.dumps(said), 201, media_type="application/json")


@router.delete("/file")
def forget_file(resources: ResourcesHere, ask: AskHere, file_id: FileId) -> Response:
    """Remove a file that another one was chosen for."""
    waiting_files.forget(resources, ask, file_id)
    return Response(status_code=204)


@router.post("/look")
def look_at_file(
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    file_id: FileId,
    reading: ReadingHere,
    columns: Wishes = "",
    key_column: Key = "",
) -> Response:
    """How a file is read and what each column is taken for; it goes on waiting."""
    wishes = told_wishes(columns)
    with (
        waiting_files.opened(resources, ask, file_id) as body,
        sent_table(resources, body, wishes, reading) as stream,
    ):
        found, report, notices = register.try_table(
            resources,
            ask,
            "",
            stream,
            wishes,
            key_column=key_column or None,
            dates=reading.dates,
        )
    return page(
        request,
        "owner/look.html",
        found=found,
        report=report,
        notices=notices,
        wishes=reading,
        kinds=list(Kind),
    )


@router.post("")
def register_file(
    resources: ResourcesHere,
    ask: AskHere,
    file_id: FileId,
    reading: ReadingHere,
    name: Name = "",
    columns: Wishes = "",
    key_column: Key = "",
    allow_versions: bool = False,
    allow_overlap: bool = False,
) -> Response:
    """Register a file as it was looked at and corrected."""
    wishes = told_wishes(columns)
    register.check_name(resources, ask, name.strip())
    with (
        waiting_files.opened(resources, ask, file_id) as body,
        sent_table(resources, body, wishes, reading) as stream,
    ):
        dataset, _, notices = register.register_dataset(
            resources,
            ask,
            name.strip(),
            stream,
            wishes,
            key_column=key_column or None,
            dates=reading.dates,
            allow_versions=allow_versions,
            allow_overlap=allow_overlap,
        )
    waiting_files.forget(resources, ask, file_id)
    said = {
        "address": f"{PREFIX}/{dataset.id}?done=registered",
        "notices": [notice.detail for notice in notices],
    }
    return Response(orjson.dumps(said), 201, media_type="application/json")


def sent_table(
    resources: Resources, body: Readable, wishes: Mapping[str, ColumnWish], reading: ReadingWishes
) -> TableStream:
    """The table of a file that a script sends; its first bytes tell the format."""
    return read_batches(
        body,
        None,
        None,
        resources.limits,
        resources.spool_dir,
        wished=wished_storage(wishes),
        wishes=reading,
    )
