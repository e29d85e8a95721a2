"""Registration in three steps: upload, correct what was inferred, store.

Until then it waits sealed (`service/datasets/registration/uploads.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Query, Request, Response

from app.api.transport.dependencies import ContextDep, ProgressDep, ResourcesDep
from app.api.transport.incoming.tables import BodyDep, ReadingDep
from app.model import ColumnOverrides, Kind, Protection
from app.portal.owner.column_overrides import parse_overrides
from app.portal.owner.dependencies import PREFIX, require_owner
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.datasets.protection.declaration import declared_kinds, formal_options
from app.service.datasets.registration import register
from app.service.datasets.registration.uploads import (
    UPLOAD,
    forget_upload,
    keep_upload,
    opened_upload,
)
from app.service.resources import Resources
from app.tables.bodies.streams import ByteStream
from app.tables.columns import storage_overrides
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import AUTOMATIC, ReadOptions, TableStream

FileId = Annotated[str, Query(alias="file", pattern=rf"^{UPLOAD}_[0-9a-f]{{20}}$")]

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
        automatic=AUTOMATIC,
    )


@router.post("/file")
def take_file(resources: ResourcesDep, context: ContextDep, body: BodyDep) -> Response:
    """Store an uploaded file, sealed, until it is registered."""
    said = {"file": keep_upload(resources, context, body)}
    return Response(orjson.dumps(said), 201, media_type="application/json")


@router.delete("/file")
def forget_file(resources: ResourcesDep, context: ContextDep, file_id: FileId) -> Response:
    """Remove a file that another one was chosen for."""
    forget_upload(resources, context, file_id)
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
        opened_upload(resources, context, file_id) as body,
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
        opened_upload(resources, context, file_id) as body,
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
    forget_upload(resources, context, file_id)
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
