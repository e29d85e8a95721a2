"""Levels: an owner's names for noise variances."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from app.model import Level
from app.store.database import tables


def one(connection: Connection, dataset_id: str, name: str) -> Level | None:
    """A level by name."""
    return next(iter(_found(connection, dataset_id, tables.levels.c.name == name)), None)


def of(connection: Connection, dataset_id: str) -> list[Level]:
    """The levels of a data set, the least perturbed first."""
    return _found(connection, dataset_id)


def at_variance(connection: Connection, dataset_id: str, noise_variance: float) -> list[Level]:
    """The levels of this very variance, by name."""
    return _found(connection, dataset_id, tables.levels.c.noise_variance == noise_variance)


def put(
    connection: Connection,
    dataset_id: str,
    name: str,
    noise_variance: float,
    offered: bool,
    delta: float | None = None,
) -> None:
    """Give a name its variance, anew or for the first time."""
    said = {"noise_variance": noise_variance, "offered": offered, "delta": delta}
    changed = connection.execute(
        update(tables.levels)
        .where(tables.levels.c.dataset == dataset_id, tables.levels.c.name == name)
        .values(**said)
    )
    if changed.rowcount == 0:
        connection.execute(insert(tables.levels).values(dataset=dataset_id, name=name, **said))


def mark_issued(connection: Connection, dataset_id: str, name: str, now: datetime) -> None:
    """A copy of this level was issued: its variance stays."""
    connection.execute(
        update(tables.levels)
        .where(
            tables.levels.c.dataset == dataset_id,
            tables.levels.c.name == name,
            tables.levels.c.issued_at.is_(None),
        )
        .values(issued_at=now)
    )


def remove(connection: Connection, dataset_id: str, name: str) -> None:
    """Delete a level."""
    connection.execute(
        delete(tables.levels).where(
            tables.levels.c.dataset == dataset_id, tables.levels.c.name == name
        )
    )


def _found(
    connection: Connection, dataset_id: str, *conditions: ColumnElement[bool]
) -> list[Level]:
    rows = connection.execute(
        select(tables.levels)
        .where(tables.levels.c.dataset == dataset_id, *conditions)
        .order_by(tables.levels.c.noise_variance, tables.levels.c.name)
    )
    return [
        Level(row.name, row.noise_variance, row.issued_at is not None, row.offered, row.delta)
        for row in rows
    ]
