"""/v1/datasets/{id}/rows: rows are only ever added or retired."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from app.api.datasets.schemas import (
    AllowOverlapHere,
    AllowVersionsHere,
    AppendedView,
    NoticeView,
    ReadAsView,
    RetiredView,
    RetireForm,
)
from app.api.datasets.sources import TABLE_OR_SOURCE, incoming_table
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.incoming.tables import BodyHere, ReadingHere
from app.api.transport.once import Route
from app.api.transport.replays import ProgressHere, can_be_long
from app.service.copies.later_parts.placing import Uncovered
from app.service.datasets import retire
from app.service.datasets.arriving import append

router = APIRouter(prefix="/v1/datasets/{dataset_id}/rows", tags=["rows"], route_class=Route)


@router.post("", status_code=201, openapi_extra=TABLE_OR_SOURCE)
@can_be_long(reading=900)
def append_rows(
    dataset_id: str,
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    body: BodyHere,
    wishes: ReadingHere,
    progress: ProgressHere,
    uncovered: Annotated[
        Uncovered,
        Query(
            description="What becomes of rows after the first copy that lie so far outside that its"
            " noise would not hide them, and that are too few for a shape of their own."
        ),
    ] = Uncovered.REFUSE,
    allow_versions: AllowVersionsHere = False,
    allow_overlap: AllowOverlapHere = False,
) -> AppendedView:
    """Append rows; the table must have the data set's columns."""
    wished, wishes = append.expected_reading(resources, ask, dataset_id, wishes)
    with incoming_table(request, resources, ask, body, wished=wished, wishes=wishes) as stream:
        part, dataset, notices = append.append_rows(
            resources,
            ask,
            dataset_id,
            stream,
            uncovered,
            wishes.dates,
            allow_versions=allow_versions,
            allow_overlap=allow_overlap,
            progress=progress,
        )
    return AppendedView(
        first_row=part.first_row,
        appended=part.rows,
        waiting=part.waiting,
        rows=dataset.released_rows,
        waiting_rows=dataset.waiting,
        read_as=ReadAsView.of(stream.read_as),
        warnings=[NoticeView.of(notice) for notice in notices],
    )


@router.delete("")
def retire_rows(
    dataset_id: str, form: RetireForm, resources: ResourcesHere, ask: AskHere
) -> RetiredView:
    """Withdraw rows by ordinal or by key; later downloads leave them out."""
    retired, dataset = retire.retire_rows(
        resources, ask, dataset_id, rows=form.rows, keys=form.keys
    )
    return RetiredView(retired_now=retired, rows=dataset.released_rows)
