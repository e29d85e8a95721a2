"""Negotiations of a data space, and what its consumers are told, message by message."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from app.store.database import tables


@dataclass(frozen=True)
class Negotiation:
    """An agreement that is negotiated by the Dataspace Protocol, as the consumer knows it.

    where:
        consumer_pid  the consumer's own name for it
        offer         the id of the offer that it was opened with
        callback      the address below which the consumer is told
    """

    agreement: str
    consumer: str
    consumer_pid: str
    offer: str
    callback: str


@dataclass(frozen=True, repr=False)
class Callback:
    """Something that a consumer is told. `body` is sealed, and gone once that has ended."""

    id: str
    process: str
    sequence: int
    agreement: str
    kind: str
    url: str
    body: bytes | None
    created_at: datetime
    tries: int = 0
    last_answer: str | None = None
    ended_at: datetime | None = None


def add(connection: Connection, negotiation: Negotiation) -> None:
    """Keep that an agreement is negotiated by the protocol."""
    connection.execute(insert(tables.dataspace_negotiations).values(**vars(negotiation)))


def of_agreement(connection: Connection, agreement_id: str) -> Negotiation | None:
    """The negotiation of an agreement, if it is one of the protocol's."""
    known = tables.dataspace_negotiations
    row = connection.execute(select(known).where(known.c.agreement == agreement_id)).one_or_none()
    return None if row is None else Negotiation(*row)


def of_consumer(connection: Connection, consumer: str, consumer_pid: str) -> Negotiation | None:
    """The negotiation that a consumer gave this name."""
    known = tables.dataspace_negotiations
    query = select(known).where(known.c.consumer == consumer, known.c.consumer_pid == consumer_pid)
    row = connection.execute(query).one_or_none()
    return None if row is None else Negotiation(*row)


def next_sequence(connection: Connection, process: str) -> int:
    """The place of the next message of a negotiation or transfer, which the principal has locked."""
    messages = tables.dataspace_messages.c
    query = select(func.max(messages.sequence)).where(messages.process == process)
    return int(connection.execute(query).scalar() or 0) + 1


def add_message(connection: Connection, message: Callback) -> None:
    """Keep a message that is to be sent."""
    connection.execute(insert(tables.dataspace_messages).values(**vars(message)))


def message(connection: Connection, message_id: str) -> Callback | None:
    """A message by id."""
    messages = tables.dataspace_messages
    row = connection.execute(select(messages).where(messages.c.id == message_id)).one_or_none()
    return None if row is None else _message(row)


def first_open(connection: Connection, process: str) -> Callback | None:
    """The first message of a process that was neither taken nor given up."""
    messages = tables.dataspace_messages
    query = (
        select(messages)
        .where(messages.c.process == process, messages.c.ended_at.is_(None))
        .order_by(messages.c.sequence)
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _message(row)


def tried(connection: Connection, message_id: str, answer: str, ended_at: datetime | None) -> bool:
    """Keep what came of a try; False where another try has ended the message. With an end, what was to be said is forgotten."""
    messages = tables.dataspace_messages
    values: dict[str, Any] = {"tries": messages.c.tries + 1, "last_answer": answer[:200]}
    if ended_at is not None:
        values |= {"ended_at": ended_at, "body": None}
    still_open = (messages.c.id == message_id) & messages.c.ended_at.is_(None)
    return bool(connection.execute(update(messages).where(still_open).values(**values)).rowcount)


def _message(row: Row[tuple[Any, ...]]) -> Callback:
    return Callback(**row._mapping)
