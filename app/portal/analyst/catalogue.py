"""Catalogue page: the data sets that a principal may see."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.errors import NotFound
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.context import RequestContext
from app.service.copies import levels
from app.service.datasets import registry
from app.service.resources import Resources
from app.service.sharing.catalogue import list_catalogue
from app.service.sharing.inbox import requests_for

router = APIRouter(prefix="/portal/catalogue", route_class=PortalRoute, include_in_schema=False)

AT_ONCE = 24


@router.get("")
def show_catalogue(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    after: Annotated[str, Query(max_length=40)] = "",
    listed_after: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """Data sets with their columns and levels, and those that one may ask for."""
    found = registry.list_datasets(resources, context, after=after, limit=AT_ONCE + 1)
    shown = found[:AT_ONCE]
    listed = list_catalogue(resources, context, after=listed_after, limit=AT_ONCE + 1)
    return page(
        request,
        "analyst/catalogue.html",
        title="Catalogue",
        listings=[one for one in listed[:AT_ONCE] if not _known(resources, context, one.id)],
        more_listed=listed[AT_ONCE - 1].id if len(listed) > AT_ONCE else None,
        requests=requests_for(resources, context, [one.id for one in listed]),
        entries=[(one, levels.list_levels(resources, context, one.id)) for one in shown],
        after=after,
        more=shown[-1].id if len(found) > AT_ONCE else None,
    )


def _known(resources: Resources, context: RequestContext, dataset_id: str) -> bool:
    """Return whether the principal has a right to it already: then it need not ask."""
    try:
        registry.show_dataset(resources, context, dataset_id)
    except NotFound:
        return False
    return True
