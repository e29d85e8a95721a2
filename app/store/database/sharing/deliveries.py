"""Deliveries under agreements: each planned once for its cause, and ended once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Select, insert, select, update

from app.agreement import Channel
from app.store.database import tables


class DeliveryState(StrEnum):
    """Where a delivery stands; the last three are its end."""

    PLANNED = "planned"
    DELIVERED = "delivered"
    FAILED = "failed"
    ENDED = "ended"


@dataclass(frozen=True)
class PlannedDelivery:
    """One delivery of one item.

    where:
        target  a name that the operator allowed, for pushing; else empty
        cause   `once`, `rows:<count>` or `due:<moment>`: one cause is delivered once
        state   `ended` when the agreement was over before it could be delivered
    """

    id: str
    agreement: str
    position: int
    channel: Channel
    target: str
    cause: str
    created_at: datetime
    state: DeliveryState = DeliveryState.PLANNED
    copy: str | None = None
    rows: int | None = None
    checksum: str | None = None
    problem: str | None = None
    delivered_at: datetime | None = None


def add(connection: Connection, delivery: PlannedDelivery) -> bool:
    """Plan a delivery under an agreement that the principal has locked; False when it is planned."""
    known = tables.deliveries.c
    same = select(known.id).where(
        known.agreement == delivery.agreement,
        known.position == delivery.position,
        known.channel == delivery.channel.value,
        known.target == delivery.target,
        known.cause == delivery.cause,
    )
    if connection.execute(same).first() is not None:
        return False
    said = {**vars(delivery), "channel": delivery.channel.value, "state": delivery.state.value}
    connection.execute(insert(tables.deliveries).values(**said))
    return True


def one(connection: Connection, delivery_id: str) -> PlannedDelivery | None:
    """A delivery by id."""
    query = select(tables.deliveries).where(tables.deliveries.c.id == delivery_id)
    return next(iter(_found(connection, query)), None)


def of(
    connection: Connection, agreement_id: str, *, after: str, limit: int
) -> list[PlannedDelivery]:
    """The deliveries of an agreement, by id."""
    known = tables.deliveries.c
    query = select(tables.deliveries).where(known.agreement == agreement_id, known.id > after)
    return _found(connection, query.order_by(known.id).limit(limit))


def unfinished(connection: Connection, before: datetime, limit: int) -> list[str]:
    """Deliveries that were planned before a moment and have not ended."""
    known = tables.deliveries.c
    query = select(known.id).where(
        known.state == DeliveryState.PLANNED.value, known.created_at < before
    )
    return list(connection.execute(query.order_by(known.created_at).limit(limit)).scalars())


def is_first(connection: Connection, delivery: PlannedDelivery) -> bool:
    """Whether nothing of its item was delivered before on its way."""
    known = tables.deliveries.c
    query = select(known.id).where(
        known.agreement == delivery.agreement,
        known.position == delivery.position,
        known.channel == delivery.channel.value,
        known.target == delivery.target,
        known.state == DeliveryState.DELIVERED.value,
        known.id != delivery.id,
    )
    return connection.execute(query).first() is None


def end(
    connection: Connection,
    delivery_id: str,
    state: DeliveryState,
    *,
    copy: str | None = None,
    rows: int | None = None,
    checksum: str | None = None,
    problem: str | None = None,
    delivered_at: datetime | None = None,
) -> bool:
    """End a delivery; False when it had ended."""
    known = tables.deliveries.c
    changed = connection.execute(
        update(tables.deliveries)
        .where(known.id == delivery_id, known.state == DeliveryState.PLANNED.value)
        .values(
            state=state.value,
            copy=copy,
            rows=rows,
            checksum=checksum,
            problem=problem,
            delivered_at=delivered_at,
        )
    )
    return changed.rowcount == 1


def _found(connection: Connection, query: Select[Any]) -> list[PlannedDelivery]:
    return [
        PlannedDelivery(
            **{
                **row._mapping,
                "channel": Channel(row.channel),
                "state": DeliveryState(row.state),
            }
        )
        for row in connection.execute(query)
    ]
