"""/v1/reports: what a stateless request has to say beside the table it answered with."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import APIRouter, Response

from app.api.dependencies import AskHere, ResourcesHere
from app.api.once import Route
from app.service import reports
from app.service.asking import Ask
from app.service.resources import Resources

router = APIRouter(prefix="/v1/reports", tags=["reports"], route_class=Route)


@router.get("/{report_id}")
def read_report(report_id: str, resources: ResourcesHere, ask: AskHere) -> dict[str, Any]:
    """Read a report again; only the caller who asked for it can."""
    report: dict[str, Any] = orjson.loads(reports.read_report(resources, ask, report_id))
    return report


def link_report(
    response: Response, resources: Resources, ask: Ask, report: dict[str, object]
) -> None:
    """Keep the report and name its address in the answer's `Link` header."""
    report_id = reports.keep_report(resources, ask, report)
    response.headers["Link"] = f'</v1/reports/{report_id}>; rel="describedby"'
