"""History of a data set: what the log says of it, its copies and agreements."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.model import LogEntry, LogFilter
from app.portal.log_filters import AT_ONCE, Before, FiltersDep, log_file, log_values
from app.portal.owner.dependencies import ONE, PREFIX, OwnDep
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service import logs
from app.service.context import RequestContext
from app.service.resources import Resources

router = APIRouter(prefix=f"{ONE}/history", route_class=PortalRoute, include_in_schema=False)


@router.get("")
def show_history(
    request: Request,
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    filters: FiltersDep,
    before: Before = None,
) -> Response:
    """Entries of the log about a data set, the newest first."""
    wanted = filters.wanted(resources, context)
    found = _search(resources, context, dataset.id, wanted, before, AT_ONCE + 1)
    return page(
        request,
        "owner/history.html",
        title=f"History of {dataset.name}",
        dataset=dataset,
        **log_values(resources, context, filters, found, before, f"{PREFIX}/"),
    )


@router.get("/export")
def export_history(
    dataset: OwnDep, resources: ResourcesDep, context: ContextDep, filters: FiltersDep
) -> Response:
    """Download the entries that fit the filters."""
    wanted = filters.wanted(resources, context)
    search = partial(_search, resources, context, dataset.id, wanted)
    return log_file(resources, context, search, "history")


def _search(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    wanted: LogFilter,
    before: int | None,
    limit: int,
) -> list[LogEntry]:
    return logs.dataset_log(resources, context, dataset_id, wanted, before=before, limit=limit)
