"""Version and catalogue endpoints of the Dataspace Protocol."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.api.dsp.answers import answer
from app.api.dsp.schemas import CatalogRequest
from app.api.transport.dependencies import ContextDep, ResourcesDep, base_of
from app.api.transport.endpoints.route import Route
from app.api.transport.paging import PageDep
from app.errors import InvalidParameter
from app.service.sharing.catalogue import list_catalogue
from app.service.sharing.dataspace import catalog
from app.service.sharing.dataspace.vocabulary import PATH, VERSION

version = APIRouter(include_in_schema=False)
router = APIRouter(prefix=f"{PATH}/catalog", route_class=Route, include_in_schema=False)


@version.get("/.well-known/dspace-version")
def read_dataspace_version() -> Response:
    """Read the supported versions of the Dataspace Protocol, without a key."""
    return answer({"protocolVersions": [{"version": VERSION, "path": PATH, "binding": "HTTPS"}]})


@router.post("/request")
def request_catalog(
    form: CatalogRequest,
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    page: PageDep,
) -> Response:
    """Read what owners offer to this principal."""
    if form.filter:
        raise InvalidParameter("Filters are not supported here.", parameter="filter")
    base = base_of(request)
    listings, cursor = page.of(list_catalogue, resources, context)
    headers = {}
    if cursor is not None:
        address = f"{base}{PATH}/catalog/request?limit={page.limit}&cursor={cursor}"
        headers["Link"] = f'<{address}>; rel="next"'
    return answer(catalog.catalog_of(resources, context, listings, base), headers=headers)


@router.get("/datasets/{dataset_id}")
def request_dataset(
    dataset_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Read one data set at one level."""
    return answer(catalog.read_dataset(resources, context, dataset_id, base_of(request)))
