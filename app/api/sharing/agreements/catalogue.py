"""/v1/catalogue: what can be found and asked for."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.sharing.agreements.schemas import CatalogueView, ListingView
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.once import Route
from app.api.transport.paging import PageHere
from app.service.sharing import catalogue

router = APIRouter(prefix="/v1/catalogue", tags=["agreements"], route_class=Route)


@router.get("")
def list_catalogue(resources: ResourcesHere, ask: AskHere, page: PageHere) -> CatalogueView:
    """List the data sets that can be asked for, with the levels on offer."""
    found = catalogue.list_catalogue(resources, ask, after=page.after, limit=page.limit)
    more = page.next_cursor(found, lambda one: one.id)
    return CatalogueView(datasets=[ListingView.of(one) for one in found], next_cursor=more)


@router.get("/{dataset_id}")
def show_listing(dataset_id: str, resources: ResourcesHere, ask: AskHere) -> ListingView:
    """Show one data set of the catalogue."""
    return ListingView.of(catalogue.show_listing(resources, ask, dataset_id))
