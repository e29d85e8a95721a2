"""Outbox: messages to receivers outside, inserted in the transaction that they report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, func, insert, or_, select, update

from app.store.database import tables

OUTBOX = tables.outbox
COLUMNS = tables.outbox.c


@dataclass(frozen=True, repr=False)
class OutboxMessage:
    """Message, with its attempts.

    where:
        stream        the webhook, negotiation or transfer that it belongs to
        sequence      place among the ordered messages of its stream; None for no order
        cause         what it reports: a stream has one message of one cause
        receiver      the principal who operates the address
        url           None for the URL of the webhook
        body          sealed; None once it is needed no more
    """

    id: str
    format: str
    stream: str
    sequence: int | None
    cause: str
    receiver: str
    agreement: str
    event: str
    url: str | None
    body: bytes | None
    created_at: datetime
    tries: int = 0
    last_try_at: datetime | None = None
    last_answer: str | None = None
    delivered_at: datetime | None = None
    given_up_at: datetime | None = None

    @property
    def is_pending(self) -> bool:
        return self.delivered_at is None and self.given_up_at is None


PENDING = COLUMNS.delivered_at.is_(None) & COLUMNS.given_up_at.is_(None)


def next_sequence(connection: Connection, stream: str) -> int:
    """Return the next place in a stream, which this transaction has locked."""
    query = select(func.max(COLUMNS.sequence)).where(COLUMNS.stream == stream)
    return int(connection.execute(query).scalar() or 0) + 1


def add(connection: Connection, message: OutboxMessage) -> bool:
    """Insert a message; False when its stream has one of this cause."""
    same = COLUMNS.stream == message.stream, COLUMNS.cause == message.cause
    if connection.execute(select(COLUMNS.id).where(*same)).first() is not None:
        return False
    connection.execute(insert(OUTBOX).values(**vars(message)))
    return True


def one(connection: Connection, message_id: str) -> OutboxMessage | None:
    """Return a message by id."""
    return next(iter(_select(connection, COLUMNS.id == message_id, limit=1)), None)


def first_pending(connection: Connection, message: OutboxMessage) -> OutboxMessage | None:
    """Return the message to be sent next where this one was to be sent."""
    either = or_(COLUMNS.id == message.id, COLUMNS.sequence.is_not(None))
    wanted = COLUMNS.stream == message.stream, PENDING, either
    return next(iter(_select(connection, *wanted, limit=1)), None)


def page(connection: Connection, stream: str, *, after: str, limit: int) -> list[OutboxMessage]:
    """Return the messages of a stream by id."""
    return _select(connection, COLUMNS.stream == stream, COLUMNS.id > after, limit=limit)


def record_attempt(
    connection: Connection, message_id: str, now: datetime, answer: str, **values: object
) -> bool:
    """Store the outcome of an attempt; False when another attempt ended the message."""
    values |= {"tries": COLUMNS.tries + 1, "last_try_at": now, "last_answer": answer[:200]}
    statement = update(OUTBOX).where(COLUMNS.id == message_id, PENDING).values(**values)
    return connection.execute(statement).rowcount == 1


def reopen(connection: Connection, message_id: str) -> None:
    """Make a message pending again."""
    reopened = {"delivered_at": None, "given_up_at": None}
    connection.execute(update(OUTBOX).where(COLUMNS.id == message_id).values(**reopened))


def _select(
    connection: Connection, *wanted: ColumnElement[bool], limit: int
) -> list[OutboxMessage]:
    query = select(OUTBOX).where(*wanted).order_by(COLUMNS.sequence, COLUMNS.id).limit(limit)
    return [OutboxMessage(**row._mapping) for row in connection.execute(query)]
