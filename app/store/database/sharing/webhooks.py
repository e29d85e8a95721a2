"""Webhooks of principals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from app.store.database import tables

COLUMNS = tables.webhooks.c


@dataclass(frozen=True, repr=False)
class Webhook:
    """Address for a principal's events; `events` is None for all of them."""

    id: str
    principal: str
    url: str
    events: tuple[str, ...] | None
    secret: bytes
    created_at: datetime


def add(connection: Connection, webhook: Webhook) -> None:
    """Insert a webhook."""
    connection.execute(insert(tables.webhooks).values(**vars(webhook)))


def of(connection: Connection, principals: Sequence[str]) -> list[Webhook]:
    """Return the webhooks of these principals, by id."""
    return _select(connection, COLUMNS.principal.in_(principals))


def one(connection: Connection, webhook_id: str) -> Webhook | None:
    """Return a webhook by id."""
    return next(iter(_select(connection, COLUMNS.id == webhook_id)), None)


def remove(connection: Connection, webhook_id: str) -> None:
    """Delete a webhook with its messages."""
    connection.execute(delete(tables.outbox).where(tables.outbox.c.stream == webhook_id))
    connection.execute(delete(tables.webhooks).where(COLUMNS.id == webhook_id))


def _select(connection: Connection, wanted: ColumnElement[bool]) -> list[Webhook]:
    query = select(tables.webhooks).where(wanted).order_by(COLUMNS.id)
    return [Webhook(**row._mapping) for row in connection.execute(query)]
