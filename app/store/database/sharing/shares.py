"""Delta Sharing shares: agreements as shares of tables, paged by index.

Tables are ordered by data set, then by their position in the agreement; a page begins after the last
of the page before it, so that a list costs as much as it is long.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, or_, select

from app.agreement import Item
from app.store.database import tables
from app.store.database.sharing.agreements import in_force, item_of


@dataclass(frozen=True)
class ShareRow:
    """An agreement as far as a list of shares needs it."""

    id: str
    consumer: str
    purpose: str
    in_force: bool


@dataclass(frozen=True)
class TableRow:
    """An item of an agreement, with the name of its data set."""

    agreement: str
    position: int
    item: Item
    dataset_name: str


def one(connection: Connection, agreement_id: str, now: datetime) -> ShareRow | None:
    """A share by id, in force or not."""
    query = _shares(now).where(tables.agreements.c.id == agreement_id)
    return next((ShareRow(**row._mapping) for row in connection.execute(query)), None)


def page(
    connection: Connection, recipient: str, now: datetime, *, after: str, limit: int
) -> list[ShareRow]:
    """The shares that a recipient has at this moment, by id."""
    agreements = tables.agreements.c
    query = _shares(now).where(
        agreements.consumer == recipient, agreements.id > after, in_force(now)
    )
    return [
        ShareRow(**row._mapping)
        for row in connection.execute(query.order_by(agreements.id).limit(limit))
    ]


def datasets_of(
    connection: Connection, agreement_id: str, *, after: str, limit: int
) -> list[tuple[str, str]]:
    """The data sets of a share, by id, with their names."""
    items, datasets = tables.agreement_items.c, tables.datasets.c
    query = (
        select(items.dataset, func.min(datasets.name))
        .join(tables.datasets, datasets.id == items.dataset)
        .where(items.agreement == agreement_id, items.dataset > after)
        .group_by(items.dataset)
        .order_by(items.dataset)
    )
    return [(row[0], row[1]) for row in connection.execute(query.limit(limit))]


def datasets_called(connection: Connection, agreement_id: str, said: str) -> list[tuple[str, str]]:
    """The data sets of a share whose id or name is this, with their names; else in other letters."""
    agreements, items, datasets = (
        tables.agreements.c,
        tables.agreement_items.c,
        tables.datasets.c,
    )
    provider = select(agreements.provider).where(agreements.id == agreement_id).scalar_subquery()
    shared = (
        select(items.dataset)
        .where(items.agreement == agreement_id, items.dataset == datasets.id)
        .exists()
    )
    # Both ways of finding one have an index; what is asked of few others need not.
    exactly = or_(datasets.id == said, and_(datasets.owner == provider, datasets.name == said))
    alike = or_(datasets.id == said.lower(), func.lower(datasets.name) == said.lower())
    for called in (exactly, and_(datasets.owner == provider, alike)):
        query = select(datasets.id, datasets.name).where(called, shared).order_by(datasets.id)
        found = [(row.id, row.name) for row in connection.execute(query)]
        if found:
            return found
    return []


def tables_of(
    connection: Connection,
    agreement_id: str,
    *,
    after: tuple[str, int],
    limit: int | None,
    dataset: str | None = None,
) -> list[TableRow]:
    """The tables of a share, or of one of its data sets, after the one at this place."""
    items, datasets = tables.agreement_items.c, tables.datasets.c
    first, position = after
    query = (
        select(tables.agreement_items, datasets.name)
        .join(tables.datasets, datasets.id == items.dataset)
        .where(items.agreement == agreement_id)
        .order_by(items.dataset, items.position)
    )
    if dataset is not None:
        query = query.where(items.dataset == dataset, items.position > position)
    else:
        later = and_(items.dataset == first, items.position > position)
        # The first half lets an index find where the page begins.
        query = query.where(items.dataset >= first, or_(items.dataset > first, later))
    return [_table(row) for row in connection.execute(query.limit(limit))]


def table_at(connection: Connection, agreement_id: str, position: int) -> TableRow | None:
    """The table of an item; None when its data set is gone."""
    items, datasets = tables.agreement_items.c, tables.datasets.c
    query = (
        select(tables.agreement_items, datasets.name)
        .join(tables.datasets, datasets.id == items.dataset)
        .where(items.agreement == agreement_id, items.position == position)
    )
    return next((_table(row) for row in connection.execute(query)), None)


def _shares(now: datetime) -> Select[tuple[str, str, str, bool]]:
    agreements = tables.agreements.c
    return select(
        agreements.id, agreements.consumer, agreements.purpose, in_force(now).label("in_force")
    )


def _table(row: Row[Any]) -> TableRow:
    return TableRow(row.agreement, row.position, item_of(row), row.name)
