"""/v1/reports: what a stateless request has to say beside the table it answered with."""

from __future__ import annotations

import orjson
from fastapi import APIRouter, Response

from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.once import Route
from app.service import results
from app.service.results import Report

router = APIRouter(prefix="/v1/reports", tags=["reports"], route_class=Route)


@router.get("/{report_id}", response_model=Report)
def read_report(report_id: str, resources: ResourcesHere, ask: AskHere) -> Response:
    """Read a report again; only the caller who asked for it can."""
    report = results.read_report(resources, ask, report_id)
    return Response(orjson.dumps(report), media_type="application/json")
