"""Shares, schemas and tables as lists in pages, and one of each by its name.

The holder of a key sees the agreements in force in which it is the recipient; a key that is bound to
one agreement sees that one. Whatever else there is does not exist for it.

Schemas and tables are called as the owner calls them, where the protocol allows such a name. A name of the
protocol has no space, slash or full stop, and is put into addresses as it is. What the owner called otherwise has
a name that follows from its place alone: the data set's id, or `item-<number>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from sqlalchemy import Connection

from app.agreement import Item
from app.errors import Hidden, InvalidParameter, NotFound, Refusal
from app.service.context import RequestContext, live_grants
from app.service.resources import Resources
from app.store.database.engine import moment, reading
from app.store.database.sharing import shares
from app.store.database.sharing.shares import ShareRow, TableRow

SCHEMA = re.compile(r"(?!ds_)[\w-]{1,255}", re.IGNORECASE)
TABLE = re.compile(r"(?!item-)[\w-]{1,255}", re.IGNORECASE)


def schema_name(dataset_id: str, name: str) -> str:
    """The name of a data set's schema."""
    return name if SCHEMA.fullmatch(name) else dataset_id


def table_name(row: TableRow) -> str:
    """The name of a level's table."""
    return row.item.level if TABLE.fullmatch(row.item.level) else f"item-{row.position}"


T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """An agreement in force, as its recipient sees it."""

    name: str
    comment: str


@dataclass(frozen=True)
class SharedSchema:
    """A data set of a share."""

    name: str
    share: str


@dataclass(frozen=True)
class SharedTable:
    """A level of a data set of a share."""

    name: str
    schema: str
    share: str
    item: Item


@dataclass(frozen=True)
class Listed(Generic[T]):
    """A page of a list; `more` is the place after which the next begins, None where there is none."""

    items: tuple[T, ...]
    more: str | None


def list_shares(
    resources: Resources, context: RequestContext, *, after: str, limit: int
) -> Listed[Share]:
    """The shares of the principal."""
    with reading(resources.engine) as connection:
        bound = context.principal.agreement
        if bound is not None:
            known, _ = known_share(connection, context, bound)
            rows = [known] if known.id > after else []
        else:
            now = moment(connection)
            rows = shares.page(connection, context.principal.id, now, after=after, limit=limit + 1)
    return _listed([_share(row) for row in rows], [row.id for row in rows], after, limit)


def show_share(resources: Resources, context: RequestContext, share: str) -> Share:
    """One share."""
    with reading(resources.engine) as connection:
        return _share(known_share(connection, context, share)[0])


def list_schemas(
    resources: Resources, context: RequestContext, share: str, *, after: str, limit: int
) -> Listed[SharedSchema]:
    """The schemas of a share."""
    with reading(resources.engine) as connection:
        known, _ = known_share(connection, context, share)
        found = shares.datasets_of(connection, known.id, after=after, limit=limit + 1)
    shown = [SharedSchema(schema_name(dataset, name), known.id) for dataset, name in found]
    return _listed(shown, [dataset for dataset, _ in found], after, limit)


def list_tables(
    resources: Resources,
    context: RequestContext,
    share: str,
    schema: str | None,
    *,
    after: str,
    limit: int,
) -> Listed[SharedTable]:
    """The tables of a schema, or of a whole share."""
    place = _place(after)
    with reading(resources.engine) as connection:
        known, _ = known_share(connection, context, share)
        dataset = None if schema is None else known_schema(connection, known.id, schema)
        found = shares.tables_of(
            connection, known.id, after=place, limit=limit + 1, dataset=dataset
        )
    places = [f"{row.item.dataset}:{row.position}" for row in found]
    return _listed([_table(row) for row in found], places, after, limit)


def known_share(
    connection: Connection, context: RequestContext, share: str
) -> tuple[ShareRow, RequestContext]:
    """The share, and the principal with the rights of its agreement alone.

    Hidden for what is not the principal's; Refusal while the agreement is not in force.
    """
    principal, agreement_id = context.principal, share.lower()
    found = shares.one(connection, agreement_id, moment(connection))
    theirs = principal.agreement in (None, agreement_id)
    if found is None or found.consumer != principal.id or not theirs:
        raise Hidden(f"there is no share {share!r} for this principal")
    if not found.in_force:
        raise Refusal("the agreement of this share is not in force")
    return found, replace(context, principal=replace(principal, agreement=found.id))


def known_schema(connection: Connection, agreement_id: str, schema: str) -> str:
    """The id of the data set that a schema of a share is of; the id itself will do, too."""
    found = shares.datasets_called(connection, agreement_id, schema)
    called = {dataset: dataset for dataset, _ in found}
    called |= {schema_name(dataset, name): dataset for dataset, name in found}
    chosen = _called(called, schema)
    if chosen is None:
        raise Hidden(f"there is no schema {schema!r} for this principal")
    return chosen


def known_table(connection: Connection, agreement_id: str, schema: str, table: str) -> SharedTable:
    """A table of a share."""
    dataset = known_schema(connection, agreement_id, schema)
    rows = shares.tables_of(connection, agreement_id, after=("", -1), limit=None, dataset=dataset)
    chosen = _called({table_name(row): row for row in rows}, table)
    if chosen is None:
        raise Hidden(f"there is no table {table!r} for this principal")
    return _table(chosen)


def own_table(
    resources: Resources, context: RequestContext, dataset_id: str, level: str
) -> SharedTable | None:
    """The table by which the principal has this level; None where it follows from no agreement."""
    with reading(resources.engine) as connection:
        for right in live_grants(connection, context, dataset_id):
            if right.agreement is not None and right.level == level:
                rows = shares.tables_of(
                    connection, right.agreement, after=("", -1), limit=None, dataset=dataset_id
                )
                return next(_table(row) for row in rows if row.item.level == level)
    return None


def table_of(connection: Connection, agreement_id: str, position: int) -> SharedTable:
    """The table of an item of an agreement; NotFound when its data set was removed."""
    row = shares.table_at(connection, agreement_id, position)
    if row is None:
        raise NotFound("the data set of this table was removed")
    return _table(row)


def _called(found: dict[str, T], said: str) -> T | None:
    """What has this very name or, where just one has it in other letters, that one."""
    if said in found:
        return found[said]
    alike = [one for name, one in found.items() if name.lower() == said.lower()]
    return alike[0] if len(alike) == 1 else None


def _listed(shown: Sequence[T], places: Sequence[str], after: str, limit: int) -> Listed[T]:
    """The first `limit` of what was found; one more was asked for, to know whether there is more."""
    last = places[limit - 1] if 0 < limit <= len(places) else after
    return Listed(tuple(shown[:limit]), last if len(shown) > limit else None)


def _place(after: str) -> tuple[str, int]:
    dataset, _, position = after.partition(":")
    if after and not (position.isdecimal() and len(position) < 10):
        raise InvalidParameter(
            "the pageToken is not one that this list gave", parameter="pageToken"
        )
    return dataset, int(position) if after else -1


def _share(row: ShareRow) -> Share:
    return Share(row.id, row.purpose)


def _table(row: TableRow) -> SharedTable:
    schema = schema_name(row.item.dataset, row.dataset_name)
    return SharedTable(table_name(row), schema, row.agreement, row.item)
