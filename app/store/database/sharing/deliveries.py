"""Deliveries under agreements: planned once per cause, ended once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, insert, select, update

from app.agreement import DeliveryState, PlannedDelivery
from app.store.database import tables

DELIVERIES = tables.deliveries
COLUMNS = tables.deliveries.c


def add(connection: Connection, delivery: PlannedDelivery) -> bool:
    """Plan a delivery under an agreement that is locked; False when it is planned already."""
    if _exists(connection, *_same(delivery), COLUMNS.cause == delivery.cause):
        return False
    connection.execute(insert(DELIVERIES).values(**vars(delivery)))
    return True


def one(connection: Connection, delivery_id: str) -> PlannedDelivery | None:
    """Return a delivery by id."""
    return next(iter(_select(connection, COLUMNS.id == delivery_id)), None)


def of(
    connection: Connection, agreement_id: str, *, after: str, limit: int
) -> list[PlannedDelivery]:
    """Return the deliveries of an agreement, by id."""
    wanted = COLUMNS.agreement == agreement_id, COLUMNS.id > after
    return _select(connection, *wanted, limit=limit)


def unfinished(connection: Connection, before: datetime, limit: int) -> list[str]:
    """Return the ids of deliveries planned before a moment and not ended, the oldest first."""
    query = select(COLUMNS.id).where(
        COLUMNS.state == DeliveryState.PLANNED, COLUMNS.created_at < before
    )
    return list(connection.execute(query.order_by(COLUMNS.created_at).limit(limit)).scalars())


def is_first(connection: Connection, delivery: PlannedDelivery) -> bool:
    """Return whether nothing of its item was delivered on its channel before."""
    delivered = COLUMNS.state == DeliveryState.DELIVERED
    return not _exists(connection, *_same(delivery), delivered, COLUMNS.id != delivery.id)


def end(connection: Connection, delivery_id: str, state: DeliveryState, **values: object) -> bool:
    """End a delivery; False when it had ended."""
    planned = COLUMNS.id == delivery_id, COLUMNS.state == DeliveryState.PLANNED
    statement = update(DELIVERIES).where(*planned).values(state=state, **values)
    return connection.execute(statement).rowcount == 1


def _same(delivery: PlannedDelivery) -> tuple[ColumnElement[bool], ...]:
    names = "agreement", "position", "channel", "target"
    return tuple(COLUMNS[name] == getattr(delivery, name) for name in names)


def _exists(connection: Connection, *wanted: ColumnElement[bool]) -> bool:
    return connection.execute(select(COLUMNS.id).where(*wanted)).first() is not None


def _select(
    connection: Connection, *wanted: ColumnElement[bool], limit: int | None = None
) -> list[PlannedDelivery]:
    query = select(DELIVERIES).where(*wanted).order_by(COLUMNS.id).limit(limit)
    return [PlannedDelivery(**row._mapping) for row in connection.execute(query)]
