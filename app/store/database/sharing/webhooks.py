"""Webhooks and the messages to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from app.store.database import tables


@dataclass(frozen=True, repr=False)
class Webhook:
    """An address that a principal wants to be told at; events None for all of them."""

    id: str
    principal: str
    url: str
    events: tuple[str, ...] | None
    secret: bytes
    created_at: datetime


@dataclass(frozen=True)
class WebhookMessage:
    """Something to be told, how often it was tried, and what was answered last.

    where:
        cause  what it tells of: one webhook is told of one thing once
    """

    id: str
    webhook: str
    agreement: str | None
    event: str
    cause: str
    body: str
    created_at: datetime
    tries: int = 0
    last_try_at: datetime | None = None
    last_answer: str | None = None
    delivered_at: datetime | None = None
    given_up_at: datetime | None = None


def add(connection: Connection, webhook: Webhook) -> None:
    """Keep a webhook."""
    connection.execute(
        insert(tables.webhooks).values(
            id=webhook.id,
            principal=webhook.principal,
            url=webhook.url,
            events=None if webhook.events is None else list(webhook.events),
            secret=webhook.secret,
            created_at=webhook.created_at,
        )
    )


def of(connection: Connection, principals: Sequence[str]) -> list[Webhook]:
    """The webhooks of these principals, by id."""
    hooks = tables.webhooks
    query = select(hooks).where(hooks.c.principal.in_(principals)).order_by(hooks.c.id)
    return [_webhook(row) for row in connection.execute(query)]


def one(connection: Connection, webhook_id: str) -> Webhook | None:
    """A webhook by id."""
    query = select(tables.webhooks).where(tables.webhooks.c.id == webhook_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else _webhook(row)


def remove(connection: Connection, webhook_id: str) -> None:
    """Forget a webhook with its messages."""
    connection.execute(delete(tables.webhooks).where(tables.webhooks.c.id == webhook_id))


def add_message(connection: Connection, message: WebhookMessage) -> bool:
    """Keep a message; False when the webhook is told of this already."""
    messages = tables.webhook_messages
    known = select(messages.c.id).where(
        messages.c.webhook == message.webhook, messages.c.cause == message.cause
    )
    if connection.execute(known).first() is not None:
        return False
    connection.execute(insert(messages).values(**vars(message)))
    return True


def message(connection: Connection, message_id: str) -> WebhookMessage | None:
    """A message by id."""
    messages = tables.webhook_messages
    row = connection.execute(select(messages).where(messages.c.id == message_id)).one_or_none()
    return None if row is None else WebhookMessage(**row._mapping)


def messages_of(
    connection: Connection, webhook_id: str, *, after: str, limit: int
) -> list[WebhookMessage]:
    """The messages to a webhook, by id."""
    messages = tables.webhook_messages
    query = (
        select(messages)
        .where(messages.c.webhook == webhook_id, messages.c.id > after)
        .order_by(messages.c.id)
        .limit(limit)
    )
    return [WebhookMessage(**row._mapping) for row in connection.execute(query)]


def tried(connection: Connection, message_id: str, answer: str, now: datetime) -> None:
    """Keep what a try was answered."""
    messages = tables.webhook_messages
    connection.execute(
        update(messages)
        .where(messages.c.id == message_id)
        .values(tries=messages.c.tries + 1, last_try_at=now, last_answer=answer[:200])
    )


def mark(connection: Connection, message_id: str, **moments: datetime | None) -> None:
    """Keep that a message was delivered, given up, or is to be sent again."""
    messages = tables.webhook_messages
    connection.execute(update(messages).where(messages.c.id == message_id).values(**moments))


def _webhook(row: Row[tuple[Any, ...]]) -> Webhook:
    events = None if row.events is None else tuple(row.events)
    return Webhook(row.id, row.principal, row.url, events, row.secret, row.created_at)
