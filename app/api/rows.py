"""/v1/datasets/{id}/rows: rows are only ever added or retired."""

from __future__ import annotations

from fastapi import APIRouter, Request

from app.api.dependencies import AskHere, ResourcesHere
from app.api.once import Route
from app.api.schemas import AppendedView, RetiredView, RetireForm
from app.api.tables.incoming import TABLE_BODY, BodyHere
from app.api.tables.reading import read_batches
from app.service import append, retire

router = APIRouter(prefix="/v1/datasets/{dataset_id}/rows", tags=["rows"], route_class=Route)


@router.post("", status_code=201, openapi_extra=TABLE_BODY)
def append_rows(
    dataset_id: str, request: Request, resources: ResourcesHere, ask: AskHere, body: BodyHere
) -> AppendedView:
    """Append rows; the table must have the data set's columns."""
    wished = append.expected_storage(resources, ask, dataset_id)
    content = (request.headers.get("content-type"), request.headers.get("content-encoding"))
    with read_batches(
        body, *content, resources.limits, resources.spool_dir, wished=wished
    ) as stream:
        part, dataset = append.append_rows(resources, ask, dataset_id, stream)
    return AppendedView(
        first_row=part.first_row, appended=part.rows, rows=dataset.rows - dataset.retired
    )


@router.delete("")
def retire_rows(
    dataset_id: str, form: RetireForm, resources: ResourcesHere, ask: AskHere
) -> RetiredView:
    """Withdraw rows by ordinal or by key; later downloads leave them out."""
    retired, dataset = retire.retire_rows(
        resources, ask, dataset_id, rows=form.rows, keys=form.keys
    )
    return RetiredView(retired_now=retired, rows=dataset.rows - dataset.retired)
