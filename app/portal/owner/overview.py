"""An owner's data sets, and the first page of one: what it is, what is missing yet, its columns."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.model import ColumnOverrides, Kind
from app.portal.lists import ListDep
from app.portal.owner.column_overrides import changed_columns
from app.portal.owner.dependencies import ONE, PREFIX, FieldsDep, OwnDep, require_owner
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.copies import levels, removal
from app.service.datasets import registry
from app.service.datasets.registration import columns as saying
from app.service.sharing import grants

router = APIRouter(route_class=PortalRoute, include_in_schema=False)


@router.get(PREFIX, dependencies=[Depends(require_owner)])
def list_owned(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    params: ListDep,
) -> Response:
    """One's own data sets; all of them for administrators."""
    found = registry.search_datasets(resources, context, params.query())
    ids = [one.id for one in found.items]
    return page(
        request,
        "owner/owned.html",
        title="Your data sets",
        listed=params.page_of(found),
        levels={one: levels.list_levels(resources, context, one) for one in ids},
        recipients=grants.count_recipients(resources, ids),
    )


@router.get(ONE)
def show_owned(
    request: Request, dataset: OwnDep, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Show a data set and the next steps."""
    return page(
        request,
        "owner/overview.html",
        title=dataset.name,
        dataset=dataset,
        levels=levels.list_levels(resources, context, dataset.id),
        recipients=grants.count_recipients(resources, [dataset.id]).get(dataset.id, 0),
        kinds=list(Kind),
    )


@router.post(f"{ONE}/description")
def describe(
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    name: Annotated[str | None, Form(max_length=1_000)] = None,
    description: Annotated[str, Form(max_length=20_000)] = "",
    listed: Annotated[bool, Form()] = False,
) -> Response:
    """Say what a data set is called, what it is, and whether others find it."""
    if name is not None and name.strip() != dataset.name:
        registry.rename_dataset(resources, context, dataset.id, name.strip())
    registry.describe_dataset(
        resources, context, dataset.id, description=description.strip(), listed=listed
    )
    return _back(dataset.id, "described")


@router.post(f"{ONE}/columns")
def correct_columns(
    dataset: OwnDep, fields: FieldsDep, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Set kinds and options of columns, until the first copy exists."""
    overrides = changed_columns(dataset.columns, fields)
    if overrides:
        saying.put_columns(resources, context, dataset.id, overrides)
    return _back(dataset.id, "corrected" if overrides else "unchanged")


@router.post(f"{ONE}/columns/withhold")
def withhold_column(
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    column: Annotated[str, Form(max_length=10_000)],
) -> Response:
    """Leave a column out of all copies."""
    overrides = {column: ColumnOverrides(kind=Kind.IDENTIFIER)}
    saying.put_columns(resources, context, dataset.id, overrides)
    return _back(dataset.id, "corrected")


@router.post(f"{ONE}/remove")
def remove(dataset: OwnDep, resources: ResourcesDep, context: ContextDep) -> Response:
    """Remove a data set for good."""
    removal.remove_dataset(resources, context, dataset.id)
    return RedirectResponse(f"{PREFIX}?done=removed", 303)


def _back(dataset_id: str, done: str) -> Response:
    return RedirectResponse(f"{PREFIX}/{dataset_id}?done={done}", 303)
