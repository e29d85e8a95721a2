"""Catalogue: data sets that their owners listed, with the levels on offer."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from app.errors import NotFound
from app.model import Column, Dataset, Level, ListQuery, ListResult, Role
from app.service.context import RequestContext, released_columns
from app.service.resources import Resources
from app.store.database.datasets import datasets, levels
from app.store.database.engine import moment, reading
from app.store.database.sharing import principals


@dataclass(frozen=True)
class Listing:
    """A data set as others see it before they have any of it: no value, no statistic.

    where:
        owner_name  the name of who decides
        columns     those that a copy can have
        levels      those that can be asked for, the least perturbed first
    """

    id: str
    name: str
    description: str
    owner: str
    owner_name: str
    rows: int
    columns: tuple[Column, ...]
    levels: tuple[Level, ...]


def list_catalogue(
    resources: Resources, context: RequestContext, *, after: str, limit: int
) -> list[Listing]:
    """Listed data sets by id, for everyone who has a key."""
    del context  # what is listed is listed for all
    with reading(resources.engine) as connection:
        found = datasets.page(connection, after=after, limit=limit, listed=True)
        return [listed(connection, dataset) for dataset in found]


def search_catalogue(
    resources: Resources, context: RequestContext, wanted: ListQuery
) -> ListResult[Listing]:
    """Search, sort and page listed data sets, but those that they own or have already."""
    if context.principal.role in (Role.ADMIN, Role.AUDITOR):
        return ListResult([], 0)  # all data sets are theirs to see
    with reading(resources.engine) as connection:
        found = datasets.search(
            connection, wanted, listed_for=context.principal.id, now=moment(connection)
        )
        return ListResult([listed(connection, one) for one in found.items], found.total)


def show_listing(resources: Resources, context: RequestContext, dataset_id: str) -> Listing:
    """One listed data set; one that is not listed looks as if it did not exist."""
    del context
    with reading(resources.engine) as connection:
        dataset = datasets.one(connection, dataset_id)
        if dataset is None or not dataset.listed:
            raise NotFound(f"there is no data set {dataset_id!r} in the catalogue")
        return listed(connection, dataset)


def listed(connection: Connection, dataset: Dataset) -> Listing:
    """A data set as it is listed."""
    record = principals.one(connection, dataset.owner)
    return Listing(
        id=dataset.id,
        name=dataset.name,
        description=dataset.description,
        owner=dataset.owner,
        owner_name=dataset.owner if record is None else record.principal.name,
        rows=dataset.released_rows,
        columns=released_columns(dataset, None),
        levels=tuple(one for one in levels.of(connection, dataset.id) if one.offered),
    )
