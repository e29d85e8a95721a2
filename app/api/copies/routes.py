"""Routes of copies: issue, show, download, noise law, history, tracing."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.api.copies.schemas import (
    BatchForm,
    CopyForm,
    CopyView,
    HistoryEntryView,
    HistoryView,
    IssuedList,
    IssuedView,
    selection,
)
from app.api.transport.dependencies import ContextDep, ResourcesDep, key_id_of
from app.api.transport.endpoints import downloads
from app.api.transport.endpoints.answers import accepted_table
from app.api.transport.endpoints.downloads import RANGED, Ranges, wants_range
from app.api.transport.endpoints.route import CopyRoute, Route
from app.api.transport.incoming.tables import TABLE_BODY, TABLE_TYPES, TableDep
from app.api.transport.paging import PageDep
from app.api.transport.problems import PROBLEM_ANSWER
from app.model import Role
from app.service.authentication import principal_by_id
from app.service.copies import issue, noise_law, tracing
from app.service.copies.download_permission import StillPermitted, require_still_permitted
from app.service.copies.generation import checksum, history
from app.service.copies.generation.release import open_release, record_release
from app.service.copies.noise_law import NoiseLaw
from app.service.copies.tracing import Trace
from app.tables.writer import write_batches

router = APIRouter(tags=["copies"], route_class=CopyRoute)

CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The rows in the data set's order.",
        "content": TABLE_TYPES,
        "headers": {"ETag": {"schema": {"type": "string"}}},
    },
    206: {
        "description": "The bytes asked for by `Range`, of CSV or Parquet.",
        "content": {media_type.value: TABLE_TYPES[media_type.value] for media_type in RANGED},
    },
    304: {"description": "Unchanged since the answer with the ETag in `If-None-Match`."},
    416: PROBLEM_ANSWER | {"description": "The range is not part of the answer."},
}


@router.post(
    "/v1/datasets/{dataset_id}/copies",
    status_code=201,
    responses={200: {"model": IssuedView, "description": "The copy had been issued before."}},
)
def issue_copy(
    dataset_id: str,
    form: CopyForm,
    response: Response,
    resources: ResourcesDep,
    context: ContextDep,
) -> IssuedView:
    """Issue the copy of a level: drawn the first time (201), the same copy ever after (200)."""
    wanted = issue.CopyRequest(form.level, form.noise_variance)
    issued = issue.issue_copy(resources, context, dataset_id, wanted)
    response.status_code = 201 if issued.first else 200
    return IssuedView.of(issued.copy)


@router.post(
    "/v1/datasets/{dataset_id}/copies/batch",
    status_code=201,
    responses={200: {"model": IssuedList, "description": "All had been issued before."}},
)
def issue_batch(
    dataset_id: str,
    form: BatchForm,
    response: Response,
    resources: ResourcesDep,
    context: ContextDep,
) -> IssuedList:
    """Issue the copies of several levels at once: all of them, or none."""
    wanted = [issue.CopyRequest(level=level) for level in form.levels]
    issued = issue.issue_batch(resources, context, dataset_id, wanted, form.algorithm)
    response.status_code = 201 if any(one.first for one in issued) else 200
    return IssuedList(copies=[IssuedView.of(one.copy) for one in issued])


@router.get("/v1/datasets/{dataset_id}/history")
def read_history(
    dataset_id: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> HistoryView:
    """Read which variances were drawn, in order; each entry's hash covers the one before it."""
    entries, cursor = page.of(
        history.read_history, resources, context, dataset_id, place="sequence"
    )
    views = [HistoryEntryView.of(entry) for entry in entries]
    return HistoryView(entries=views, next_cursor=cursor)


@router.get("/v1/copies/{copy_id}")
def show_copy(copy_id: str, resources: ResourcesDep, context: ContextDep) -> CopyView:
    """Show a copy, with the checksum of the values that this principal's download has.

    An auditor, who cannot download, sees no checksum.
    """
    view = CopyView.of(history.show_copy(resources, context, copy_id))
    if context.principal.role is not Role.AUDITOR:
        view.checksum = checksum.copy_checksum(resources, context, copy_id)
    return view


@router.get("/v1/copies/{copy_id}/noise")
def show_noise_law(copy_id: str, resources: ResourcesDep, context: ContextDep) -> NoiseLaw:
    """Show the noise law of a copy: its distribution, without the draws.

    Analysts correct their estimates with it. The law of a traceable copy is that of its level, within 1 %.
    """
    return noise_law.show_noise_law(resources, context, copy_id)


@router.get("/v1/copies/{copy_id}/content", response_class=Response, responses=CONTENT)
def download_copy(
    copy_id: str,
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    columns: Annotated[
        list[str] | None, Query(description="Names, repeated or between commas.", max_length=2_000)
    ] = None,
    rows: Annotated[
        str | None,
        Query(description="Ordinals from:to, the second not included.", examples=["0:1000"]),
    ] = None,
    csv: Annotated[
        downloads.CsvCells | None,
        Query(
            description="`safe` puts an apostrophe before texts that a spreadsheet would run; the"
            " default for browsers. Numbers never change."
        ),
    ] = None,
) -> Response:
    """Download the rows in the format that `Accept` names; the values never depend on it."""
    media_type = accepted_table(request)
    release = open_release(resources, context, copy_id, selection(columns, rows))
    cells = downloads.csv_cells(request, csv)
    etag = downloads.entity_tag(release.fingerprint, media_type, cells)
    headers = downloads.download_headers(etag, media_type, release.name)
    if downloads.is_unchanged(request, etag):
        return Response(status_code=304, headers=headers)
    record_release(resources, context, release, media_type.value)
    subject = f"GET {request.url.path}"[:500]
    look = partial(
        require_still_permitted,
        resources,
        context,
        principal_by_id(context.principal.id, key_id_of(request)),
        copy_id,
        subject,
        columns=[column.name for column in release.columns],
        first_row=release.first,
    )
    go_on = StillPermitted(resources, look)
    safe = cells is downloads.CsvCells.SAFE
    write = partial(write_batches, release.each_block, release.schema, media_type, safe=safe)
    if wants_range(request, etag, media_type):
        ranges: Ranges = request.app.state.ranges
        return ranges.answer(request, etag, media_type, headers, write, go_on)
    return downloads.streamed(downloads.watched(write(), go_on), media_type, headers)


traces_router = APIRouter(
    prefix="/v1/datasets/{dataset_id}/traces", tags=["copies"], route_class=Route
)


@traces_router.post("", openapi_extra=TABLE_BODY)
def trace_table(
    dataset_id: str, table: TableDep, resources: ResourcesDep, context: ContextDep
) -> Trace:
    """Trace a found table to the recipients of traceable agreements whose copies it was made of.

    For the data set's owner and for auditors. Some of the rows in any order, and some of the columns, are
    enough; rounding, added noise and mixing of copies are seen through where enough rows are there.
    """
    return tracing.trace(resources, context, dataset_id, table)
