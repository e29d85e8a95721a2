"""Owner's list of data sets, and the overview of one: summary, next steps, columns, history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.model import ColumnOverrides, Dataset, Kind, Level
from app.portal.owner.column_overrides import changed_columns
from app.portal.owner.dependencies import ONE, PREFIX, FieldsDep, OwnDep, require_owner
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service import logs
from app.service.context import RequestContext
from app.service.copies import levels, removal
from app.service.datasets import registry
from app.service.datasets.registration import columns as saying
from app.service.resources import Resources
from app.service.sharing import grants, principals

AT_ONCE = 24

After = Annotated[str, Query(max_length=40)]
Extra = TypeVar("Extra")


@dataclass(frozen=True)
class DatasetPage(Generic[Extra]):
    """A page of the list.

    where:
        entries  each data set, its levels, and what else is told of it
        after    the data set before the first one; empty at the beginning
        more     after which the next page begins, if there is one
    """

    entries: list[tuple[Dataset, list[Level], Extra]]
    after: str
    more: str | None


def page_of_datasets(
    resources: Resources, context: RequestContext, after: str, tell: Callable[[Dataset], Extra]
) -> DatasetPage[Extra]:
    """The page that follows a data set."""
    found = registry.list_datasets(resources, context, after=after, limit=AT_ONCE + 1)
    shown = found[:AT_ONCE]
    entries = [(one, levels.list_levels(resources, context, one.id), tell(one)) for one in shown]
    return DatasetPage(entries, after, shown[-1].id if len(found) > AT_ONCE else None)


router = APIRouter(route_class=PortalRoute, include_in_schema=False)


@router.get(PREFIX, dependencies=[Depends(require_owner)])
def list_owned(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    after: After = "",
) -> Response:
    """One's own data sets; all of them for administrators."""
    return page(
        request,
        "owner/owned.html",
        title="Your data sets",
        listed=page_of_datasets(
            resources,
            context,
            after,
            lambda one: grants.count_recipients(resources, [one.id]).get(one.id, 0),
        ),
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
    description: Annotated[str, Form(max_length=20_000)] = "",
    listed: Annotated[bool, Form()] = False,
) -> Response:
    """Set the description, and list the data set in the catalogue or not."""
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


history_router = APIRouter(
    prefix=f"{ONE}/history", route_class=PortalRoute, include_in_schema=False
)

ENTRIES_AT_ONCE = 50


@history_router.get("")
def show_history(
    request: Request,
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    before: Annotated[int | None, Query(ge=1, lt=2**62)] = None,
) -> Response:
    """Entries of the log about a data set, the newest first."""
    found = logs.dataset_log(
        resources, context, dataset.id, before=before, limit=ENTRIES_AT_ONCE + 1
    )
    shown = found[:ENTRIES_AT_ONCE]
    mentioned = {entry.principal for entry in shown}
    mentioned |= {str(entry.facts.get("recipient")) for entry in shown}
    return page(
        request,
        "owner/history.html",
        title=f"History of {dataset.name}",
        dataset=dataset,
        entries=shown,
        names=principals.names_of(resources, context, mentioned),
        older=shown[-1].sequence if len(found) > ENTRIES_AT_ONCE else None,
    )
