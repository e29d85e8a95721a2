"""Messages: kept in the transaction of what they tell of, sent by jobs, tried for a day.

They follow the Standard Webhooks convention: `webhook-id` stays the same at every try, so that who got
a message twice can tell; `webhook-timestamp` is that of the try; `webhook-signature` covers both and
the body. A message has ids and states in it, never a value of a table.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import Connection
from standardwebhooks import Webhook as Signer

from app.agreement import Agreement, State
from app.service.asking import new_id
from app.service.jobs.enqueue import enqueue
from app.service.jobs.kinds import Kind, Outcome, TryAgain
from app.service.jobs.progress import Progress
from app.service.resources import Resources
from app.service.sharing.webhooks.posting import posted
from app.store.database.engine import reading, writing
from app.store.database.jobs import Job
from app.store.database.sharing import agreements, webhooks
from app.store.database.sharing.webhooks import Webhook, WebhookMessage

KIND = "webhook"
PAUSES = (5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0, 21600.0, 37200.0)
"""Seconds between tries: about a day in all."""

GONE = 410
"""Says by the convention that nobody wants these messages any more."""


class Event(StrEnum):
    """What can be told; an agreement's states are events of their own."""

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


def tell(
    resources: Resources,
    connection: Connection,
    agreement: Agreement,
    event: Event,
    cause: str,
    facts: Mapping[str, Any],
) -> None:
    """Have both parties told, at every webhook of theirs that wants to know; of one cause once."""
    now = datetime.now(UTC)
    for hook in webhooks.of(connection, [agreement.provider, agreement.consumer]):
        if hook.events is not None and event not in hook.events:
            continue
        said = {
            "type": event.value,
            "timestamp": now.isoformat(),
            "data": {"agreement": agreement.id, "state": agreement.state.value, **facts},
        }
        message = WebhookMessage(
            id=new_id("msg"),
            webhook=hook.id,
            agreement=agreement.id,
            event=event.value,
            cause=f"{agreement.id}:{cause}",
            body=orjson.dumps(said).decode(),
            created_at=now,
        )
        if webhooks.add_message(connection, message):
            send_soon(resources, connection, message.id)


def send_soon(
    resources: Resources, connection: Connection, message_id: str, *, by_hand: bool = False
) -> None:
    """Have a message sent once this transaction is committed, by hand beside tries that still wait."""
    enqueue(
        connection,
        resources,
        kind=KIND,
        subject=message_id,
        payload={},
        caller=None,
        only_one=None if by_hand else f"{KIND}:{message_id}",
    )


def send_message(resources: Resources, job: Job, _progress: Progress) -> Outcome:
    """One try; TryAgain until it is answered by a success, or the tries are used up."""
    with reading(resources.engine) as connection:
        message = webhooks.message(connection, job.subject)
        hook = None if message is None else webhooks.one(connection, message.webhook)
        ended = message is not None and _is_past(connection, message)
    if message is None or hook is None or message.delivered_at is not None:
        return Outcome()
    if ended:
        return _given_up(resources, message, "not sent: the agreement was terminated")
    status, answer = _sent(resources, hook, message)
    now = datetime.now(UTC)
    with writing(resources.engine) as connection:
        webhooks.tried(connection, message.id, answer, now)
        if status is not None and 200 <= status < 300:
            webhooks.mark(connection, message.id, delivered_at=now, given_up_at=None)
            return Outcome()
        if status == GONE or job.attempts >= resources.jobs.kinds[KIND].attempts:
            webhooks.mark(connection, message.id, given_up_at=now)
            return Outcome()
    raise TryAgain


def open_secret(resources: Resources, hook_id: str, sealed: bytes) -> str:
    """The secret that a webhook's messages are signed with, as receivers write it."""
    return (
        "whsec_" + base64.b64encode(resources.vault.open(sealed, secret_context(hook_id))).decode()
    )


def secret_context(hook_id: str) -> str:
    """What the seal of a secret is bound to."""
    return f"webhook:{hook_id}"


def _sent(resources: Resources, hook: Webhook, message: WebhookMessage) -> tuple[int | None, str]:
    now = datetime.now(UTC)
    signer = Signer(open_secret(resources, hook.id, hook.secret))
    headers = {
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signer.sign(message.id, now, message.body),
    }
    return posted(hook.url, resources.outside.webhook_networks, message.body.encode(), headers)


def _is_past(connection: Connection, message: WebhookMessage) -> bool:
    """Whether the agreement was terminated since: then only that is still told."""
    if message.agreement is None or message.event == Event.TERMINATED:
        return False
    agreement = agreements.one(connection, message.agreement)
    return agreement is None or agreement.state is State.TERMINATED


def _given_up(resources: Resources, message: WebhookMessage, why: str) -> Outcome:
    now = datetime.now(UTC)
    with writing(resources.engine) as connection:
        webhooks.tried(connection, message.id, why, now)
        webhooks.mark(connection, message.id, given_up_at=now)
    return Outcome()


SENDING = Kind(send_message, pauses=PAUSES)
"""How messages are sent."""
