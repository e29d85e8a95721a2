"""Slots: the variance at which each recipient of a traceable agreement draws a level."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import ColumnElement, Connection, insert, select

from app.store.database import tables


@dataclass(frozen=True)
class Slot:
    """One recipient's variance, a little above that of a level."""

    dataset: str
    recipient: str
    level_variance: float
    slot: int
    noise_variance: float


def add(connection: Connection, slot: Slot) -> None:
    """Insert a slot; a recipient has one per level, unique to it."""
    connection.execute(insert(tables.slots).values(**asdict(slot)))


def of(connection: Connection, dataset_id: str) -> list[Slot]:
    """All slots of a data set, the least perturbed first."""
    return _found(connection, dataset_id)


def of_recipient(
    connection: Connection, dataset_id: str, recipient: str, level_variance: float
) -> Slot | None:
    """The slot that a recipient has for a level, if it has one."""
    columns = tables.slots.c
    found = _found(
        connection,
        dataset_id,
        columns.recipient == recipient,
        columns.level_variance == level_variance,
    )
    return found[0] if found else None


def at_variance(connection: Connection, dataset_id: str, noise_variance: float) -> Slot | None:
    """Return the slot of this exact variance, if it is in use."""
    found = _found(connection, dataset_id, tables.slots.c.noise_variance == noise_variance)
    return found[0] if found else None


def _found(connection: Connection, dataset_id: str, *conditions: ColumnElement[bool]) -> list[Slot]:
    rows = connection.execute(
        select(tables.slots)
        .where(tables.slots.c.dataset == dataset_id, *conditions)
        .order_by(tables.slots.c.noise_variance)
    )
    return [Slot(**row._mapping) for row in rows]
