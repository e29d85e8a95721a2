"""The catalogue: the data sets that a principal may see, and those that it may ask for."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Request, Response

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.portal.lists import ListDep, Number
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.copies import levels
from app.service.datasets import registry
from app.service.sharing.catalogue import search_catalogue
from app.service.sharing.inbox import requests_for

router = APIRouter(prefix="/portal/catalogue", route_class=PortalRoute, include_in_schema=False)


@router.get("")
def show_catalogue(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    params: ListDep,
    on_request: Number = 1,
) -> Response:
    """Data sets with their columns and levels, and those that one may ask for."""
    found = registry.search_datasets(resources, context, params.query())
    second = replace(params, number=on_request)
    listings = search_catalogue(resources, context, second.query())
    ids = [one.id for one in found.items]
    return page(
        request,
        "analyst/catalogue.html",
        title="Catalogue",
        listed=params.page_of(found),
        levels={one: levels.list_levels(resources, context, one) for one in ids},
        listings=second.page_of(listings, parameter="on_request"),
        requests=requests_for(resources, context, [one.id for one in listings.items]),
    )
