"""Webhooks of principals: registration, messages, and sending a message again."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, fields, replace
from datetime import datetime

from sqlalchemy import Connection

from app.errors import Conflict, Hidden, InvalidParameter, Refusal
from app.model import Role
from app.service.context import RequestContext, new_id
from app.service.resources import Resources
from app.service.sharing.outbox import outbox
from app.service.sharing.outbox.http_post import check_url
from app.service.sharing.webhooks.events import Event
from app.service.unit_of_work import unit_of_work
from app.store.database.engine import reading
from app.store.database.sharing import outbox as messages
from app.store.database.sharing import webhooks
from app.store.database.sharing.outbox import OutboxMessage
from app.store.database.sharing.webhooks import Webhook

SECRET_BYTES, MOST_WEBHOOKS = 32, 20


@dataclass(frozen=True)
class WebhookMessage:
    """Message to a webhook, with its attempts."""

    id: str
    agreement: str
    event: str
    body: str
    created_at: datetime
    tries: int
    last_try_at: datetime | None
    last_answer: str | None
    delivered_at: datetime | None
    given_up_at: datetime | None


SHOWN = tuple(one.name for one in fields(WebhookMessage) if one.name != "body")


@dataclass(frozen=True, repr=False)
class NewWebhook:
    """Webhook with its secret, which is shown only once."""

    webhook: Webhook
    secret: str


def add_webhook(
    resources: Resources, context: RequestContext, url: str, events: tuple[Event, ...] | None
) -> NewWebhook:
    """Register an address; InvalidParameter when messages must not go there."""
    if context.principal.role is Role.AUDITOR:
        raise Refusal("an auditor has no agreements")
    if events is not None and not events:
        raise InvalidParameter("events must name one or more, or be left out", parameter="events")
    check_url(resources, url, "url")
    with unit_of_work(resources, context) as uow:
        if len(webhooks.of(uow.connection, [context.principal.id])) >= MOST_WEBHOOKS:
            raise Conflict(f"a principal has up to {MOST_WEBHOOKS} webhooks", limit=MOST_WEBHOOKS)
        hook_id = new_id("wh")
        sealed = resources.vault.seal(os.urandom(SECRET_BYTES), _seal(hook_id))
        named = None if events is None else tuple(event.value for event in events)
        hook = Webhook(hook_id, context.principal.id, url, named, sealed, uow.now)
        webhooks.add(uow.connection, hook)
        uow.record("webhook.add", hook_id)
    return NewWebhook(hook, open_secret(resources, hook))


def list_webhooks(resources: Resources, context: RequestContext) -> list[Webhook]:
    """Return the principal's webhooks."""
    with reading(resources.engine) as connection:
        return webhooks.of(connection, [context.principal.id])


def remove_webhook(resources: Resources, context: RequestContext, webhook_id: str) -> None:
    """Delete a webhook with its messages."""
    with unit_of_work(resources, context) as uow:
        _own(uow.connection, context, webhook_id)
        webhooks.remove(uow.connection, webhook_id)
        uow.record("webhook.remove", webhook_id)


def list_messages(
    resources: Resources, context: RequestContext, webhook_id: str, *, after: str, limit: int
) -> list[WebhookMessage]:
    """Return the messages to a webhook by id, with their attempts."""
    with reading(resources.engine) as connection:
        _own(connection, context, webhook_id)
        found = messages.page(connection, webhook_id, after=after, limit=limit)
    return [_shown(resources, message) for message in found]


def send_again(
    resources: Resources, context: RequestContext, webhook_id: str, message_id: str
) -> WebhookMessage:
    """Send a message once more, delivered or given up, with the same id."""
    with unit_of_work(resources, context) as uow:
        _own(uow.connection, context, webhook_id)
        message = messages.one(uow.connection, message_id)
        if message is None or message.stream != webhook_id:
            raise Hidden(f"there is no message {message_id!r} for this principal")
        messages.reopen(uow.connection, message_id)
        outbox.schedule(resources, uow.connection, message, again=True)
        uow.record("webhook.send", message_id)
    return _shown(resources, replace(message, delivered_at=None, given_up_at=None))


def open_secret(resources: Resources, webhook: Webhook) -> str:
    """Return the secret that signs a webhook's messages, as Standard Webhooks writes it."""
    secret = resources.vault.open(webhook.secret, _seal(webhook.id))
    return "whsec_" + base64.b64encode(secret).decode()


def _shown(resources: Resources, message: OutboxMessage) -> WebhookMessage:
    values = {name: getattr(message, name) for name in SHOWN}
    return WebhookMessage(body=outbox.open_body(resources, message).decode(), **values)


def _seal(webhook_id: str) -> str:
    return f"webhook:{webhook_id}"


def _own(connection: Connection, context: RequestContext, webhook_id: str) -> Webhook:
    hook = webhooks.one(connection, webhook_id)
    if hook is None or hook.principal != context.principal.id:
        raise Hidden(f"there is no webhook {webhook_id!r} for this principal")
    return hook
