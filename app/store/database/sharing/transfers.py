"""Transfers: the use that a consumer makes of an agreement by the Dataspace Protocol."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, or_, select, update

from app.agreement import Party, TransferState
from app.store.database import tables
from app.store.database.engine import lock_row


@dataclass(frozen=True, repr=False)
class Transfer:
    """One use of an agreement.

    where:
        target        where the copy is pushed to; None where the consumer pulls it
        base          our own address as the consumer knows it
        key           the public id of the key that the consumer pulls with
        address       where the data are and the key to them, sealed
        suspended_by  who suspended it: what the provider stopped the consumer cannot resume
    """

    id: str
    agreement: str
    consumer: str
    consumer_pid: str
    state: TransferState
    format: str
    target: str | None
    callback: str
    base: str
    created_at: datetime
    changed_at: datetime
    copy: str | None = None
    key: str | None = None
    address: bytes | None = None
    suspended_by: Party | None = None


def add(connection: Connection, transfer: Transfer) -> None:
    """Keep a new transfer."""
    connection.execute(insert(tables.transfers).values(**vars(transfer)))


def lock(connection: Connection, transfer_id: str) -> None:
    """Make this transaction the only one that changes the transfer."""
    query = select(tables.transfers.c.id).where(tables.transfers.c.id == transfer_id)
    lock_row(connection, transfer_id, query.with_for_update())


def change(connection: Connection, transfer: Transfer) -> None:
    """Keep a transfer, which the principal has locked, in place of what it was."""
    connection.execute(
        update(tables.transfers)
        .where(tables.transfers.c.id == transfer.id)
        .values(
            state=transfer.state.value,
            copy=transfer.copy,
            key=transfer.key,
            address=transfer.address,
            suspended_by=transfer.suspended_by,
            changed_at=transfer.changed_at,
        )
    )


def one(connection: Connection, transfer_id: str) -> Transfer | None:
    """A transfer by id."""
    query = select(tables.transfers).where(tables.transfers.c.id == transfer_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else _transfer(row)


def of_consumer(connection: Connection, consumer: str, consumer_pid: str) -> Transfer | None:
    """The transfer that a consumer gave this name."""
    known = tables.transfers.c
    query = select(tables.transfers).where(
        known.consumer == consumer, known.consumer_pid == consumer_pid
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _transfer(row)


def of_agreement(connection: Connection, agreement_id: str) -> list[Transfer]:
    """The transfers under an agreement, oldest first."""
    known = tables.transfers.c
    query = select(tables.transfers).where(known.agreement == agreement_id)
    rows = connection.execute(query.order_by(known.created_at, known.id))
    return [_transfer(row) for row in rows]


def page(
    connection: Connection, *, after: str, limit: int, party: str | None = None
) -> list[Transfer]:
    """Transfers by id: all, or those of one party."""
    known, agreements = tables.transfers.c, tables.agreements.c
    query = select(tables.transfers).where(known.id > after)
    if party is not None:
        query = query.join(tables.agreements, agreements.id == known.agreement).where(
            or_(agreements.provider == party, agreements.consumer == party)
        )
    return [_transfer(row) for row in connection.execute(query.order_by(known.id).limit(limit))]


def is_running(connection: Connection, transfer_id: str) -> bool:
    """Whether a transfer gives its key a right at this moment."""
    known = tables.transfers.c
    state = connection.execute(select(known.state).where(known.id == transfer_id)).scalar()
    return state == TransferState.STARTED.value


def _transfer(row: Row[tuple[Any, ...]]) -> Transfer:
    said = dict(row._mapping)
    said["state"] = TransferState(said["state"])
    if said["suspended_by"] is not None:
        said["suspended_by"] = Party(said["suspended_by"])
    return Transfer(**said)
