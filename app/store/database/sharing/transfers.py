"""Transfers of agreements by the Dataspace Protocol."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, insert, or_, select, update

from app.agreement import Transfer, TransferState
from app.store.database import tables
from app.store.database.engine import lock_row

TRANSFERS = tables.transfers
COLUMNS = tables.transfers.c


def add(connection: Connection, transfer: Transfer) -> None:
    """Insert a transfer."""
    connection.execute(insert(TRANSFERS).values(**vars(transfer)))


def lock(connection: Connection, transfer_id: str) -> None:
    """Lock a transfer until the transaction ends."""
    query = select(COLUMNS.id).where(COLUMNS.id == transfer_id)
    lock_row(connection, transfer_id, query.with_for_update())


def change(connection: Connection, transfer: Transfer) -> None:
    """Store a transfer, which this transaction has locked."""
    statement = update(TRANSFERS).where(COLUMNS.id == transfer.id)
    connection.execute(statement.values(**vars(transfer)))


def one(connection: Connection, transfer_id: str) -> Transfer | None:
    """Return a transfer by id."""
    return next(iter(_select(connection, COLUMNS.id == transfer_id)), None)


def of_consumer(connection: Connection, consumer: str, consumer_pid: str) -> Transfer | None:
    """Return the transfer to which a consumer gave this id."""
    wanted = COLUMNS.consumer == consumer, COLUMNS.consumer_pid == consumer_pid
    return next(iter(_select(connection, *wanted)), None)


def of_agreement(connection: Connection, agreement_id: str) -> list[Transfer]:
    """Return the transfers under an agreement, by id."""
    return _select(connection, COLUMNS.agreement == agreement_id)


def page(
    connection: Connection, *, after: str, limit: int, party: str | None = None
) -> list[Transfer]:
    """Return transfers by id: all, or those of one party."""
    wanted: list[ColumnElement[bool]] = [COLUMNS.id > after]
    if party is not None:
        agreements = tables.agreements.c
        own = or_(agreements.provider == party, agreements.consumer == party)
        wanted.append(COLUMNS.agreement.in_(select(agreements.id).where(own)))
    return _select(connection, *wanted, limit=limit)


def is_running(connection: Connection, transfer_id: str) -> bool:
    """Return whether a transfer gives its key a right now."""
    state = connection.execute(select(COLUMNS.state).where(COLUMNS.id == transfer_id)).scalar()
    return state == TransferState.STARTED


def _select(
    connection: Connection, *wanted: ColumnElement[bool], limit: int | None = None
) -> list[Transfer]:
    query = select(TRANSFERS).where(*wanted).order_by(COLUMNS.id).limit(limit)
    return [Transfer(**row._mapping) for row in connection.execute(query)]
