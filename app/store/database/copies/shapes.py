"""What is frozen of a data set, sealed: once for all its rows, the donors, and each part's shape."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from app.store.database import tables


def freeze(connection: Connection, dataset_id: str, sealed: bytes) -> None:
    """Keep what is frozen with the first copy; a second time violates a constraint."""
    connection.execute(insert(tables.frozen).values(dataset=dataset_id, sealed=sealed))


def frozen(connection: Connection, dataset_id: str) -> bytes | None:
    """What was frozen with the first copy, if there was one."""
    query = select(tables.frozen.c.sealed).where(tables.frozen.c.dataset == dataset_id)
    kept: bytes | None = connection.execute(query).scalar_one_or_none()
    return kept


def keep_pool(connection: Connection, dataset_id: str, sealed: bytes) -> None:
    """Keep the donors' records; a second time violates a constraint."""
    connection.execute(insert(tables.pools).values(dataset=dataset_id, sealed=sealed))


def pool(connection: Connection, dataset_id: str) -> bytes | None:
    """The donors' records, if the data set has some."""
    query = select(tables.pools.c.sealed).where(tables.pools.c.dataset == dataset_id)
    kept: bytes | None = connection.execute(query).scalar_one_or_none()
    return kept


def add(connection: Connection, dataset_id: str, part: int, sealed: bytes) -> None:
    """Keep a part's shape; a second one violates a constraint."""
    connection.execute(insert(tables.shapes).values(dataset=dataset_id, part=part, sealed=sealed))


def of_parts(connection: Connection, dataset_id: str, first: int, last: int) -> dict[int, bytes]:
    """Part → its shape, of those of the parts `first` to `last` that have one."""
    query = select(tables.shapes.c.part, tables.shapes.c.sealed).where(
        tables.shapes.c.dataset == dataset_id, tables.shapes.c.part.between(first, last)
    )
    return {row.part: row.sealed for row in connection.execute(query)}
