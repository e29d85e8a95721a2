"""Webhooks as their callers see them: named, listed, looked at, sent to again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from app.errors import Conflict, Hidden, InvalidParameter, Refusal
from app.model import Role
from app.service.asking import Ask, new_id, work
from app.service.resources import Resources
from app.service.sharing.webhooks.posting import AddressRefused, destination
from app.service.sharing.webhooks.telling import Event, open_secret, secret_context, send_soon
from app.store.database.engine import reading
from app.store.database.sharing import webhooks
from app.store.database.sharing.webhooks import Webhook, WebhookMessage

SECRET_BYTES, MOST_WEBHOOKS = 32, 20


@dataclass(frozen=True, repr=False)
class NewWebhook:
    """A webhook and its secret: the only time that the secret is seen."""

    webhook: Webhook
    secret: str


def add_webhook(
    resources: Resources, ask: Ask, url: str, events: tuple[Event, ...] | None
) -> NewWebhook:
    """Have a caller's agreements told to an address; InvalidParameter when it may not be reached."""
    if ask.caller.role is Role.AUDITOR:
        raise Refusal("an auditor has no agreements to be told of")
    if events is not None and not events:
        raise InvalidParameter("events must name one or more, or be left out", parameter="events")
    try:
        destination(url, resources.outside.webhook_networks)
    except AddressRefused as refused:
        raise InvalidParameter(str(refused), parameter="url") from None
    with work(resources, ask) as under_way:
        if len(webhooks.of(under_way.connection, [ask.caller.id])) >= MOST_WEBHOOKS:
            raise Conflict(f"a caller has up to {MOST_WEBHOOKS} webhooks", limit=MOST_WEBHOOKS)
        hook_id = new_id("wh")
        sealed = resources.vault.seal(os.urandom(SECRET_BYTES), secret_context(hook_id))
        named = None if events is None else tuple(event.value for event in events)
        hook = Webhook(hook_id, ask.caller.id, url, named, sealed, under_way.now)
        webhooks.add(under_way.connection, hook)
        under_way.record("webhook.add", hook_id)
    return NewWebhook(hook, open_secret(resources, hook_id, sealed))


def list_webhooks(resources: Resources, ask: Ask) -> list[Webhook]:
    """The caller's own."""
    with reading(resources.engine) as connection:
        return webhooks.of(connection, [ask.caller.id])


def remove_webhook(resources: Resources, ask: Ask, webhook_id: str) -> None:
    """Tell nothing more to an address, and forget what was told."""
    with work(resources, ask) as under_way:
        _own(under_way.connection, ask, webhook_id)
        webhooks.remove(under_way.connection, webhook_id)
        under_way.record("webhook.remove", webhook_id)


def list_messages(
    resources: Resources, ask: Ask, webhook_id: str, *, after: str, limit: int
) -> list[WebhookMessage]:
    """What was told, how often it was tried, and the last answer."""
    with reading(resources.engine) as connection:
        _own(connection, ask, webhook_id)
        return webhooks.messages_of(connection, webhook_id, after=after, limit=limit)


def send_again(resources: Resources, ask: Ask, webhook_id: str, message_id: str) -> WebhookMessage:
    """Send a message once more, delivered or given up, with the same id."""
    with work(resources, ask) as under_way:
        connection = under_way.connection
        _own(connection, ask, webhook_id)
        message = webhooks.message(connection, message_id)
        if message is None or message.webhook != webhook_id:
            raise Hidden(f"there is no message {message_id!r} for this caller")
        nothing: datetime | None = None
        webhooks.mark(connection, message_id, delivered_at=nothing, given_up_at=nothing)
        send_soon(resources, connection, message_id, by_hand=True)
        under_way.record("webhook.send", message_id)
        again = webhooks.message(connection, message_id)
        assert again is not None
    return again


def _own(connection: Connection, ask: Ask, webhook_id: str) -> Webhook:
    hook = webhooks.one(connection, webhook_id)
    if hook is None or hook.caller != ask.caller.id:
        raise Hidden(f"there is no webhook {webhook_id!r} for this caller")
    return hook
