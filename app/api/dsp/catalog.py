"""Which versions are spoken here, and the catalogue."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.api.dsp.answers import CatalogRoute, answer, base_of
from app.api.dsp.schemas import CatalogRequest
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.paging import PageDep
from app.errors import InvalidParameter
from app.service.sharing.dataspace import catalog
from app.service.sharing.dataspace.words import PATH, VERSION

version = APIRouter(include_in_schema=False)
router = APIRouter(prefix=f"{PATH}/catalog", route_class=CatalogRoute, include_in_schema=False)


@version.get("/.well-known/dspace-version")
def read_dataspace_version() -> Response:
    """Which versions of the Dataspace Protocol are spoken here; no key is needed for that."""
    said = {"version": VERSION, "path": PATH, "binding": "HTTPS"}
    return answer({"protocolVersions": [said]})


@router.post("/request")
def request_catalog(
    form: CatalogRequest,
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    page: PageDep,
) -> Response:
    """What owners offer to this principal."""
    if form.filter:
        raise InvalidParameter("Filters are not supported here.", parameter="filter")
    base = base_of(request)
    found = catalog.read_catalog(resources, context, base, after=page.after, limit=page.limit)
    headers = {}
    if found.last is not None:
        more = page.cursor_after(found.last)
        address = f"{base}{PATH}/catalog/request?limit={page.limit}&cursor={more}"
        headers["Link"] = f'<{address}>; rel="next"'
    return answer(found.catalog, headers=headers)


@router.get("/datasets/{dataset_id}")
def request_dataset(
    dataset_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """One data set at one level."""
    return answer(catalog.read_dataset(resources, context, dataset_id, base_of(request)))
