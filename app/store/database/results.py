"""Stored results: reports of stateless requests, audits of a data set."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, tuple_

from app.store.database import tables


@dataclass(frozen=True, repr=False)
class StoredResult:
    """A result as it is kept; `body` is sealed. One about a data set goes with it."""

    id: str
    kind: str
    principal: str
    dataset: str | None
    created_at: datetime
    body: bytes


def add(connection: Connection, result: StoredResult) -> None:
    """Keep a result."""
    connection.execute(insert(tables.results).values(**asdict(result)))


def one(connection: Connection, result_id: str) -> StoredResult | None:
    """A result by id."""
    row = connection.execute(
        select(tables.results).where(tables.results.c.id == result_id)
    ).one_or_none()
    return None if row is None else StoredResult(**row._mapping)


def page(
    connection: Connection, dataset_id: str, kind: str, *, after: str, limit: int
) -> list[StoredResult]:
    """Results of a kind about a data set as they came, after the one named (all where none is)."""
    results = tables.results.c
    query = select(tables.results).where(results.dataset == dataset_id, results.kind == kind)
    if after:
        then = select(results.created_at).where(results.id == after).scalar_subquery()
        query = query.where(tuple_(results.created_at, results.id) > tuple_(then, after))
    rows = connection.execute(query.order_by(results.created_at, results.id).limit(limit))
    return [StoredResult(**row._mapping) for row in rows]


def newest(connection: Connection, dataset_id: str, kind: str, *, limit: int) -> list[StoredResult]:
    """Results of a kind about a data set, the last one first."""
    results = tables.results.c
    query = select(tables.results).where(results.dataset == dataset_id, results.kind == kind)
    latest = query.order_by(results.created_at.desc(), results.id.desc()).limit(limit)
    return [StoredResult(**row._mapping) for row in connection.execute(latest)]
