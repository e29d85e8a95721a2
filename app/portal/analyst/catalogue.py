"""The catalogue: the data sets that a caller may see."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.api.transport.dependencies import AskHere, ResourcesHere
from app.errors import NotFound
from app.portal.rendering import page
from app.portal.visits import Page
from app.service.asking import Ask
from app.service.datasets import catalogue, levels
from app.service.resources import Resources
from app.service.sharing.catalogue import list_catalogue

router = APIRouter(prefix="/portal/catalogue", route_class=Page, include_in_schema=False)

AT_ONCE = 24


@router.get("")
def show_catalogue(
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    after: Annotated[str, Query(max_length=40)] = "",
    listed_after: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """Data sets with their columns and levels, and those that one may ask for."""
    found = catalogue.list_datasets(resources, ask, after=after, limit=AT_ONCE + 1)
    shown = found[:AT_ONCE]
    listed = list_catalogue(resources, ask, after=listed_after, limit=AT_ONCE + 1)
    return page(
        request,
        "analyst/catalogue.html",
        title="Catalogue",
        listings=[one for one in listed[:AT_ONCE] if not _known(resources, ask, one.id)],
        more_listed=listed[AT_ONCE - 1].id if len(listed) > AT_ONCE else None,
        entries=[(one, levels.list_levels(resources, ask, one.id)) for one in shown],
        after=after,
        more=shown[-1].id if len(found) > AT_ONCE else None,
    )


def _known(resources: Resources, ask: Ask, dataset_id: str) -> bool:
    """Whether the caller has a right to it already: then it need not ask."""
    try:
        catalogue.show_dataset(resources, ask, dataset_id)
    except NotFound:
        return False
    return True
