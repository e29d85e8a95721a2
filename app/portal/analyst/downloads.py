"""A copy as a file: the very bytes that the API sends, with an estimate of how many there will be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Query, Request, Response

from app.api.transport import downloads
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.errors import InvalidParameter
from app.portal.visits import SESSION_COOKIE, Page
from app.service.copies.making.release import Selection, open_release, record_release
from app.service.distributions.copy_sample import leading
from app.service.permission import StillPermitted, require_still_permitted
from app.service.sharing.sessions import holder_of_session
from app.tables.media import MediaType
from app.tables.writing import write_batches, write_table

router = APIRouter(prefix="/portal/copies", route_class=Page, include_in_schema=False)

FORMATS = {
    "csv": MediaType.CSV,
    "parquet": MediaType.PARQUET,
    "arrow": MediaType.ARROW,
    "xlsx": MediaType.XLSX,
}
MEASURED_ROWS = 1_000
"""From so many rows it is told how many bytes all of them will take."""


@router.get("/{copy_id}/content")
def download_copy(
    copy_id: str,
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    name: Annotated[str, Query(alias="format")] = "csv",
) -> Response:
    """Download a copy."""
    media_type = FORMATS.get(name)
    if media_type is None:
        raise InvalidParameter(f"format is one of {', '.join(FORMATS)}", parameter="format")
    release = open_release(resources, ask, copy_id, Selection())
    rows = release.last - release.first - len(release.retired)
    expected = _bytes(leading(release, MEASURED_ROWS), media_type, rows)
    cells = downloads.CsvCells.SAFE
    etag = downloads.entity_tag(release.fingerprint, media_type, cells)
    headers = downloads.download_headers(etag, media_type, copy_id)
    record_release(resources, ask, release, media_type.value)
    holder = holder_of_session(request.cookies.get(SESSION_COOKIE, ""))
    subject = f"GET {request.url.path}"[:500]
    look = partial(
        require_still_permitted,
        resources,
        ask,
        holder,
        copy_id,
        subject,
        columns=[column.name for column in release.columns],
        first_row=release.first,
    )
    go_on = StillPermitted(resources, look)
    chunks = write_batches(release.each_block, release.schema, media_type, safe=True)
    headers |= {"X-Expected-Bytes": str(expected), "Cache-Control": "no-store"}
    return downloads.streamed(downloads.watched(chunks, go_on), media_type, headers)


def _bytes(measured: pa.Table, media_type: MediaType, rows: int) -> int:
    """About how many bytes so many rows take, from those measured."""
    whole, none = (
        _length(write_table(part, media_type)) for part in (measured, measured.slice(0, 0))
    )
    each = (whole - none) / max(int(measured.num_rows), 1)
    return none + round(each * rows)


def _length(chunks: Iterator[memoryview]) -> int:
    return sum(len(chunk) for chunk in chunks)
