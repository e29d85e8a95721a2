"""Negotiations of agreements by the Dataspace Protocol."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, insert, select

from app.store.database import tables

COLUMNS = tables.dataspace_negotiations.c


@dataclass(frozen=True)
class Negotiation:
    """Contract negotiation, as its consumer knows it.

    where:
        consumer_pid  the consumer's id of it
        offer         id of the offer with which it was opened
        callback      base address of callbacks
    """

    agreement: str
    consumer: str
    consumer_pid: str
    offer: str
    callback: str


def add(connection: Connection, negotiation: Negotiation) -> None:
    """Insert a negotiation."""
    connection.execute(insert(tables.dataspace_negotiations).values(**vars(negotiation)))


def of_agreement(connection: Connection, agreement_id: str) -> Negotiation | None:
    """Return the negotiation of an agreement, if the protocol was used."""
    return _one(connection, COLUMNS.agreement == agreement_id)


def of_consumer(connection: Connection, consumer: str, consumer_pid: str) -> Negotiation | None:
    """Return the negotiation to which a consumer gave this id."""
    return _one(connection, COLUMNS.consumer == consumer, COLUMNS.consumer_pid == consumer_pid)


def _one(connection: Connection, *wanted: ColumnElement[bool]) -> Negotiation | None:
    query = select(tables.dataspace_negotiations).where(*wanted)
    row = connection.execute(query).one_or_none()
    return None if row is None else Negotiation(*row)
