"""Webhook messages by the Standard Webhooks convention, for both parties of an agreement.

`webhook-id` is the same at every attempt, `webhook-timestamp` that of the attempt, and `webhook-signature`
covers both and the body. A message has ids and states in it, never a value of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import orjson
from sqlalchemy import Connection
from standardwebhooks import Webhook as Signer

from app.agreement import Agreement, State
from app.service.resources import Resources
from app.service.sharing.events import AgreementChanged, AgreementExpiring, DeliveryEnded
from app.service.sharing.outbox import outbox
from app.service.sharing.outbox.outbox import MessageFormat, PostRequest, Void
from app.service.sharing.webhooks.events import Event
from app.service.sharing.webhooks.subscriptions import open_secret
from app.store.database.chained_logs import Fact
from app.store.database.sharing import agreements, webhooks
from app.store.database.sharing.outbox import OutboxMessage

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
