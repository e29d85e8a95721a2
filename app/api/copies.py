"""Copies: issue them, show them, download them; and the history behind them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.api import downloads
from app.api.copy_schemas import (
    BatchForm,
    CopyForm,
    CopyView,
    HistoryEntryView,
    HistoryView,
    IssuedList,
    IssuedView,
)
from app.api.dependencies import AfterHere, AskHere, LimitHere, ResourcesHere, encoded_cursor
from app.api.once import Route
from app.api.ranges import Ranges, wants_range
from app.api.tables.media import MediaType, negotiate
from app.api.tables.writing import write_batches
from app.errors import InvalidParameter, Refusal, Unauthenticated
from app.model import Role
from app.service import checksum, copies, issue, logs
from app.service.asking import Ask
from app.service.release import Selection, open_release, record_release
from app.service.resources import Resources
from app.store import callers
from app.store.engine import reading

router = APIRouter(tags=["copies"], route_class=Route)

ROW_RANGE = re.compile(r"(\d{0,18}):(\d{0,18})")
CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The rows in the data set's order.",
        "content": {
            media_type.value: {"schema": {"type": "string", "format": "binary"}}
            for media_type in MediaType
        },
    },
    206: {"description": "The bytes asked for by `Range`, of CSV or Parquet."},
    304: {"description": "Unchanged since the answer with the ETag in `If-None-Match`."},
    416: {"description": "The range is not part of the answer."},
}


@router.post(
    "/v1/datasets/{dataset_id}/copies",
    status_code=201,
    responses={200: {"model": IssuedView, "description": "The copy had been issued before."}},
)
def issue_copy(
    dataset_id: str, form: CopyForm, response: Response, resources: ResourcesHere, ask: AskHere
) -> IssuedView:
    """Issue the copy of a level: drawn the first time (201), the same copy ever after (200)."""
    wanted = issue.Wanted(form.level, form.noise_variance)
    issued = issue.issue_copy(resources, ask, dataset_id, wanted)
    response.status_code = 201 if issued.first else 200
    return IssuedView.of(issued.copy)


@router.post("/v1/datasets/{dataset_id}/copies/batch", status_code=201)
def issue_batch(
    dataset_id: str, form: BatchForm, response: Response, resources: ResourcesHere, ask: AskHere
) -> IssuedList:
    """Issue the copies of several levels at once: all of them, or none."""
    wanted = [issue.Wanted(level=level) for level in form.levels]
    issued = issue.issue_batch(resources, ask, dataset_id, wanted, form.algorithm)
    response.status_code = 201 if any(one.first for one in issued) else 200
    return IssuedList(copies=[IssuedView.of(one.copy) for one in issued])


@router.get("/v1/datasets/{dataset_id}/history")
def read_history(
    dataset_id: str,
    resources: ResourcesHere,
    ask: AskHere,
    after: AfterHere,
    limit: LimitHere = 100,
) -> HistoryView:
    """Read which variances were drawn, in order; each entry's hash covers the one before it."""
    if after and not (after.isdecimal() and len(after) < 19):
        raise InvalidParameter("cursor is not one that this list gave", parameter="cursor")
    entries = copies.read_history(resources, ask, dataset_id, after=int(after or 0), limit=limit)
    more = encoded_cursor(str(entries[-1].sequence)) if len(entries) == limit else None
    views = [HistoryEntryView.of(entry) for entry in entries]
    return HistoryView(entries=views, next_cursor=more)


@router.get("/v1/copies/{copy_id}")
def show_copy(copy_id: str, resources: ResourcesHere, ask: AskHere) -> CopyView:
    """Show a copy, with the checksum of the values that this caller's download has.

    An auditor, who cannot download, sees no checksum.
    """
    view = CopyView.of(copies.show_copy(resources, ask, copy_id))
    if ask.caller.role is not Role.AUDITOR:
        view.checksum = checksum.copy_checksum(resources, ask, copy_id)
    return view


@router.get("/v1/copies/{copy_id}/content", response_class=Response, responses=CONTENT)
def download_copy(
    copy_id: str,
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    columns: Annotated[
        list[str] | None, Query(description="Names, repeated or between commas.", max_length=2_000)
    ] = None,
    rows: Annotated[
        str | None,
        Query(description="Ordinals from:to, the second not included.", examples=["0:1000"]),
    ] = None,
) -> Response:
    """Download the rows in the format that `Accept` names; the values never depend on it."""
    media_type = negotiate(request.headers.get("accept"))
    release = open_release(resources, ask, copy_id, _selection(columns, rows))
    etag = downloads.entity_tag(release.fingerprint, media_type)
    headers = downloads.download_headers(etag, media_type, copy_id)
    if downloads.is_unchanged(request, etag):
        return Response(status_code=304, headers=headers)
    record_release(resources, ask, release, media_type.value)
    go_on = _still_permitted(request, resources, ask, copy_id)
    write = partial(write_batches, release.each_block, release.schema, media_type)
    if wants_range(request, etag, media_type):
        ranges: Ranges = request.app.state.ranges
        return ranges.answer(request, etag, media_type, headers, write, go_on)
    return downloads.streamed(downloads.watched(write(), go_on), media_type, headers)


def _selection(columns: list[str] | None, rows: str | None) -> Selection:
    chosen = None if columns is None else tuple(columns)
    if rows is None:
        return Selection(chosen)
    match = ROW_RANGE.fullmatch(rows)
    if match is None:
        raise InvalidParameter("rows must look like 0:1000", parameter="rows")
    first, last = match.groups()
    return Selection(chosen, int(first or 0), int(last) if last else None)


def _still_permitted(
    request: Request, resources: Resources, ask: Ask, copy_id: str
) -> Callable[[], None]:
    """Raises, in the middle of a download, when the key was revoked or the grant has ended."""
    key = request.headers["authorization"].partition(" ")[2].strip()

    def check() -> None:
        try:
            with reading(resources.engine) as connection:
                if callers.caller_of(connection, key) != ask.caller:
                    raise Unauthenticated("the key was revoked")
                copies.downloadable(connection, ask, copy_id)
        except Refusal as refusal:
            subject = f"GET {request.url.path}"[:500]
            logs.record_refusal(resources, ask.caller.id, ask.request_id, subject, refusal)
            raise

    return check
