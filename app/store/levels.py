"""Levels: an owner's names for noise variances."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from app.model import Level
from app.store import tables


def one(connection: Connection, dataset_id: str, name: str) -> Level | None:
    """A level by name."""
    return next((level for level in of(connection, dataset_id) if level.name == name), None)


def of(connection: Connection, dataset_id: str) -> list[Level]:
    """The levels of a data set, the least perturbed first."""
    rows = connection.execute(
        select(tables.levels)
        .where(tables.levels.c.dataset == dataset_id)
        .order_by(tables.levels.c.noise_variance, tables.levels.c.name)
    )
    return [Level(row.name, row.noise_variance, row.issued_at is not None) for row in rows]


def put(connection: Connection, dataset_id: str, name: str, noise_variance: float) -> None:
    """Give a name its variance, anew or for the first time."""
    changed = connection.execute(
        update(tables.levels)
        .where(tables.levels.c.dataset == dataset_id, tables.levels.c.name == name)
        .values(noise_variance=noise_variance)
    )
    if changed.rowcount == 0:
        connection.execute(
            insert(tables.levels).values(
                dataset=dataset_id, name=name, noise_variance=noise_variance
            )
        )


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
    """Forget a level."""
    connection.execute(
        delete(tables.levels).where(
            tables.levels.c.dataset == dataset_id, tables.levels.c.name == name
        )
    )
