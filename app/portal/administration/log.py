"""The audit log in sentences, the newest first, with filters and export; and whether it is whole."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.model import LogEntry, LogFilter
from app.portal.log_filters import AT_ONCE, Before, FiltersDep, log_file, log_values
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service import logs
from app.service.context import RequestContext
from app.service.resources import Resources

router = APIRouter(prefix="/portal/log", route_class=PortalRoute, include_in_schema=False)


@router.get("")
def show_log(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    filters: FiltersDep,
    before: Before = None,
) -> Response:
    """Entries that fit the filters."""
    wanted = filters.wanted(resources, context)
    found = logs.search_log(resources, context, wanted, before=before, limit=AT_ONCE + 1)
    return page(
        request,
        "administration/log.html",
        title="Log",
        **log_values(resources, context, filters, found, before, "/portal/datasets/"),
    )


@router.get("/export")
def export_log(resources: ResourcesDep, context: ContextDep, filters: FiltersDep) -> Response:
    """Download the entries that fit the filters."""
    wanted = filters.wanted(resources, context)
    search = partial(_search, resources, context, wanted)
    return log_file(resources, context, search, "log")


def _search(
    resources: Resources, context: RequestContext, wanted: LogFilter, before: int | None, limit: int
) -> list[LogEntry]:
    return logs.search_log(resources, context, wanted, before=before, limit=limit)


@router.post("/verification")
def verify_log(request: Request, resources: ResourcesDep, context: ContextDep) -> Response:
    """Follow the whole chain."""
    found = logs.check_log(resources, context)
    return page(request, "administration/verification.html", title="The log's chain", found=found)
