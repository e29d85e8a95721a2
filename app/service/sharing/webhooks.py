"""Webhooks of principals by the Standard Webhooks convention: registration, messages, sending one again.

`webhook-id` is the same at every attempt, `webhook-timestamp` that of the attempt, and `webhook-signature`
covers both and the body. A message has ids and states in it, never a value of a table.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from enum import StrEnum

import orjson
from sqlalchemy import Connection
from standardwebhooks import Webhook as Signer

from app.agreement import Agreement, State
from app.errors import Conflict, Hidden, InvalidParameter, Refusal
from app.model import Role
from app.service.context import RequestContext, new_id
from app.service.resources import Resources
from app.service.sharing.events import AgreementChanged, AgreementExpiring, DeliveryEnded
from app.service.sharing.outbox import outbox
from app.service.sharing.outbox.http_post import check_url
from app.service.sharing.outbox.outbox import MessageFormat, PostRequest, Void
from app.service.unit_of_work import unit_of_work
from app.store.database.chained_logs import Fact
from app.store.database.engine import reading
from app.store.database.sharing import agreements, webhooks
from app.store.database.sharing import outbox as messages
from app.store.database.sharing.outbox import OutboxMessage
from app.store.database.sharing.webhooks import Webhook


class Event(StrEnum):
    """Event of an agreement; every state of an agreement is one."""

    REQUESTED = "agreement.requested"
    OFFERED = "agreement.offered"
    ACCEPTED = "agreement.accepted"
    AGREED = "agreement.agreed"
    VERIFIED = "agreement.verified"
    FINALIZED = "agreement.finalized"
    TERMINATED = "agreement.terminated"
    EXPIRING = "agreement.expiring"
    COPY_READY = "copy.ready"
    ROWS_REFRESHED = "rows.refreshed"
    DELIVERY_FAILED = "delivery.failed"


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


GONE = 410
"""Status by which a receiver unsubscribes (Standard Webhooks)."""


def notify_of_change(resources: Resources, connection: Connection, event: AgreementChanged) -> None:
    """Report the state that an agreement has reached."""
    agreement = event.agreement
    kind = Event(f"agreement.{agreement.state.lower()}")
    facts: dict[str, Fact] = {"version": agreement.version, "log_hash": agreement.log_hash}
    cause = f"version:{agreement.version}"
    _notify(resources, connection, agreement, kind, cause, facts)


def notify_of_end(resources: Resources, connection: Connection, event: AgreementExpiring) -> None:
    """Report that a term ends soon."""
    cause = f"ends:{event.facts['ends_at']}:{event.facts['days']}"
    _notify(resources, connection, event.agreement, Event.EXPIRING, cause, event.facts)


def notify_of_delivery(resources: Resources, connection: Connection, event: DeliveryEnded) -> None:
    """Report a delivery, or its failure."""
    kind = Event.COPY_READY if event.is_first else Event.ROWS_REFRESHED
    kind = Event.DELIVERY_FAILED if event.failed else kind
    cause = f"delivery:{event.delivery}"
    _notify(resources, connection, event.agreement, kind, cause, event.facts)


def _notify(
    resources: Resources,
    connection: Connection,
    agreement: Agreement,
    event: Event,
    cause: str,
    facts: Mapping[str, Fact],
) -> None:
    """Enqueue a message for every webhook of both parties that subscribed to the event."""
    content = {
        "type": event.value,
        "timestamp": datetime.now(UTC).isoformat(),
        "data": {"agreement": agreement.id, "state": agreement.state.value, **facts},
    }
    for webhook in webhooks.of(connection, [agreement.provider, agreement.consumer]):
        if webhook.events is None or event in webhook.events:
            outbox.enqueue(
                resources,
                connection,
                format_name=FORMAT.name,
                stream=webhook.id,
                cause=f"{agreement.id}:{cause}",
                receiver=webhook.principal,
                agreement=agreement.id,
                event=event.value,
                body=orjson.dumps(content),
            )


def _request(
    resources: Resources, connection: Connection, message: OutboxMessage, body: bytes
) -> PostRequest:
    webhook = webhooks.one(connection, message.stream)
    if webhook is None:
        raise Void("not sent: the webhook was removed")
    agreement = agreements.existing(connection, message.agreement)
    if agreement.state is State.TERMINATED and message.event != Event.TERMINATED:
        raise Void("not sent: the agreement was terminated")
    now = datetime.now(UTC)
    signature = Signer(open_secret(resources, webhook)).sign(message.id, now, body.decode())
    headers = {
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signature,
    }
    return PostRequest(webhook.url, headers)


FORMAT = MessageFormat("webhook", _request, is_refusal=lambda status: status == GONE)
