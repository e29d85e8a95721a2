"""Shapes: what was frozen for a data set when its first copy was issued, sealed."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from app.store import tables


def add(connection: Connection, dataset_id: str, sealed: bytes) -> None:
    """Keep a data set's shape; a second one violates a constraint."""
    connection.execute(insert(tables.shapes).values(dataset=dataset_id, sealed=sealed))


def sealed(connection: Connection, dataset_id: str) -> bytes | None:
    """The shape of a data set, if it has one."""
    query = select(tables.shapes.c.sealed).where(tables.shapes.c.dataset == dataset_id)
    kept: bytes | None = connection.execute(query).scalar_one_or_none()
    return kept
