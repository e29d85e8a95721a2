"""/v1/datasets/{id}/traces: whose copies a found table was made of."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.incoming.tables import TABLE_BODY, TableHere
from app.api.transport.once import Route
from app.service.copies import tracing
from app.service.copies.tracing import Trace

router = APIRouter(prefix="/v1/datasets/{dataset_id}/traces", tags=["copies"], route_class=Route)


@router.post("", openapi_extra=TABLE_BODY)
def trace_table(dataset_id: str, table: TableHere, resources: ResourcesHere, ask: AskHere) -> Trace:
    """Trace a found table to the recipients of traceable agreements whose copies it was made of.

    For the data set's owner and for auditors. Some of the rows in any order, and some of the columns, are
    enough; rounding, added noise and mixing of copies are seen through where enough rows are there.
    """
    return tracing.trace(resources, ask, dataset_id, table)
