"""Registration in three steps: upload, correct what was inferred, store.

Until it is stored, the file is kept sealed beside the bodies of jobs, and removed after a day. Its name contains the
owner, so that it is not found for anybody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Query, Request, Response

from app.api.transport.dependencies import ContextDep, ProgressDep, ResourcesDep
from app.api.transport.incoming.tables import BodyDep, ReadingDep
from app.errors import NotFound
from app.model import ColumnOverrides, Kind, Protection
from app.portal.owner.column_overrides import parse_overrides
from app.portal.owner.dependencies import PREFIX, require_owner
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.context import RequestContext, new_id
from app.service.datasets.protection.declaration import declared_kinds, formal_options
from app.service.datasets.registration import register
from app.service.resources import Resources
from app.store.blobs.sealed_bytes import SealedReader
from app.tables.bodies.streams import ByteStream
from app.tables.columns import storage_overrides
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import AUTOMATIC, ReadOptions, TableStream

CHUNK_BYTES = 2**20
WAITING = "upload"

FileId = Annotated[str, Query(alias="file", pattern=rf"^{WAITING}_[0-9a-f]{{20}}$")]


def keep(resources: Resources, context: RequestContext, body: ByteStream) -> str:
    """Seal what comes; its id. A body that does not come whole leaves nothing."""
    file_id = new_id(WAITING)
    with resources.jobs.files.writer(_name(file_id, context)) as sink:
        while chunk := body.read(CHUNK_BYTES):
            sink.write(chunk)
    return file_id


@contextmanager
def opened(resources: Resources, context: RequestContext, file_id: str) -> Iterator[SealedReader]:
    """The file of the principal, to be read in the block; NotFound where it is gone."""
    try:
        with resources.jobs.files.opened(_name(file_id, context)) as file:
            yield SealedReader(file)
    except FileNotFoundError:
        raise NotFound("The file is not here any more. Choose it once more.") from None


def forget(resources: Resources, context: RequestContext, file_id: str) -> None:
    """Remove the file of the principal, if it is there."""
    resources.jobs.files.remove(_name(file_id, context))


def _name(file_id: str, context: RequestContext) -> str:
    return f"{file_id}-{context.principal.id}"


router = APIRouter(
    prefix=f"{PREFIX}/new",
    route_class=PortalRoute,
    include_in_schema=False,
    dependencies=[Depends(require_owner)],
)

Overrides = Annotated[str, Query(alias="columns", max_length=60_000)]
Name = Annotated[str, Query(max_length=1_000)]
Key = Annotated[str, Query(max_length=10_000)]


@router.get("")
def show_form(request: Request, resources: ResourcesDep) -> Response:
    """Show the upload form."""
    limit = resources.limits.upload_bytes
    return page(
        request,
        "owner/new.html",
        title="Register a table",
        limit_bytes=limit,
        found_out=AUTOMATIC,
    )


@router.post("/file")
def take_file(resources: ResourcesDep, context: ContextDep, body: BodyDep) -> Response:
    """Store an uploaded file, sealed, until it is registered."""
    said = {"file": keep(resources, context, body)}
    return Response(orjson.dumps(said), 201, media_type="application/json")


@router.delete("/file")
def forget_file(resources: ResourcesDep, context: ContextDep, file_id: FileId) -> Response:
    """Remove a file that another one was chosen for."""
    forget(resources, context, file_id)
    return Response(status_code=204)


@router.post("/look")
def look_at_file(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    file_id: FileId,
    reading: ReadingDep,
    progress: ProgressDep,
    columns: Overrides = "",
    key_column: Key = "",
    protection: Protection = Protection.MEASURED,
) -> Response:
    """Show how a file is read and the kinds of its columns; it stays stored."""
    overrides = declared_kinds(parse_overrides(columns))
    with (
        opened(resources, context, file_id) as body,
        sent_table(resources, body, overrides, reading) as stream,
    ):
        found, report, notices = register.try_table(
            resources,
            context,
            "",
            stream,
            overrides,
            key_column=key_column or None,
            formal=formal_options(protection, None, None),
            progress=progress,
        )
    return page(
        request,
        "owner/profile.html",
        found=found,
        report=report,
        doubtful=sum(bool(one.warnings or one.proposals) for one in report.columns.values()),
        notices=notices,
        params=reading,
        kinds=list(Kind),
    )


@router.post("")
def register_file(
    resources: ResourcesDep,
    context: ContextDep,
    file_id: FileId,
    reading: ReadingDep,
    progress: ProgressDep,
    name: Name = "",
    columns: Overrides = "",
    key_column: Key = "",
    protection: Protection = Protection.MEASURED,
    allow_versions: bool = False,
    allow_overlap: bool = False,
) -> Response:
    """Register a file as it was looked at and corrected."""
    overrides = declared_kinds(parse_overrides(columns))
    register.check_name(resources, context, name.strip())
    with (
        opened(resources, context, file_id) as body,
        sent_table(resources, body, overrides, reading) as stream,
    ):
        dataset, _, notices = register.register_dataset(
            resources,
            context,
            name.strip(),
            stream,
            overrides,
            key_column=key_column or None,
            formal=formal_options(protection, None, None),
            allow_versions=allow_versions,
            allow_overlap=allow_overlap,
            progress=progress,
        )
    forget(resources, context, file_id)
    said = {
        "address": f"{PREFIX}/{dataset.id}?done=registered",
        "notices": [notice.detail for notice in notices],
    }
    return Response(orjson.dumps(said), 201, media_type="application/json")


def sent_table(
    resources: Resources,
    body: ByteStream,
    overrides: Mapping[str, ColumnOverrides],
    reading: ReadOptions,
) -> TableStream:
    """The table of a file that a script sends; its first bytes tell the format."""
    return open_table(
        TableSource(body),
        replace(reading, storage=storage_overrides(overrides)),
        resources.limits,
        resources.spool_dir,
    )
