"""Webhooks, named, listed, looked at and sent to again by their principals; and the messages to them.

A message is kept in the transaction of what it tells of, sent by jobs, tried for a day. They follow the Standard
Webhooks convention: `webhook-id` stays the same at every try, so that who got a message twice can tell;
`webhook-timestamp` is that of the try; `webhook-signature` covers both and the body. A message has ids and states
in it, never a value of a table.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import Connection
from standardwebhooks import Webhook as Signer

from app.agreement import Agreement, State
from app.errors import Conflict, Hidden, InvalidParameter, Refusal
from app.model import Role
from app.service.context import RequestContext, new_id
from app.service.jobs.enqueue import enqueue
from app.service.jobs.job_types import JobType, Outcome, Pool, TryAgain
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.webhooks.posting import AddressRefused, destination, posted
from app.service.unit_of_work import unit_of_work
from app.store.database.engine import reading, writing
from app.store.database.jobs import Job
from app.store.database.sharing import agreements, webhooks
from app.store.database.sharing.webhooks import Webhook, WebhookMessage

SEND = "webhook"
RETRY_DELAYS = (5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0, 21600.0, 37200.0)
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
            send_soon(resources, connection, hook, message.id)


def send_soon(
    resources: Resources,
    connection: Connection,
    hook: Webhook,
    message_id: str,
    *,
    by_hand: bool = False,
) -> None:
    """Have a message sent once this transaction is committed, by hand beside tries that still wait."""
    enqueue(
        connection,
        resources,
        kind=SEND,
        subject=message_id,
        payload={},
        principal=None,
        # Many addresses of one principal are one receiver.
        concurrency_key=hook.principal,
        dedup_key=None if by_hand else f"{SEND}:{message_id}",
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
        if status == GONE or job.attempts >= resources.jobs.job_types[SEND].attempts:
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


SENDING = JobType(send_message, retry_delays=RETRY_DELAYS, pool=Pool.MESSAGES)
"""How messages are sent."""


SECRET_BYTES, MOST_WEBHOOKS = 32, 20


@dataclass(frozen=True, repr=False)
class NewWebhook:
    """A webhook and its secret: the only time that the secret is seen."""

    webhook: Webhook
    secret: str


def add_webhook(
    resources: Resources, context: RequestContext, url: str, events: tuple[Event, ...] | None
) -> NewWebhook:
    """Have a principal's agreements told to an address; InvalidParameter when it may not be reached."""
    if context.principal.role is Role.AUDITOR:
        raise Refusal("an auditor has no agreements to be told of")
    if events is not None and not events:
        raise InvalidParameter("events must name one or more, or be left out", parameter="events")
    try:
        destination(url, resources.outside.webhook_networks)
    except AddressRefused as refused:
        raise InvalidParameter(str(refused), parameter="url") from None
    with unit_of_work(resources, context) as uow:
        if len(webhooks.of(uow.connection, [context.principal.id])) >= MOST_WEBHOOKS:
            raise Conflict(f"a principal has up to {MOST_WEBHOOKS} webhooks", limit=MOST_WEBHOOKS)
        hook_id = new_id("wh")
        sealed = resources.vault.seal(os.urandom(SECRET_BYTES), secret_context(hook_id))
        named = None if events is None else tuple(event.value for event in events)
        hook = Webhook(hook_id, context.principal.id, url, named, sealed, uow.now)
        webhooks.add(uow.connection, hook)
        uow.record("webhook.add", hook_id)
    return NewWebhook(hook, open_secret(resources, hook_id, sealed))


def list_webhooks(resources: Resources, context: RequestContext) -> list[Webhook]:
    """The principal's own."""
    with reading(resources.engine) as connection:
        return webhooks.of(connection, [context.principal.id])


def remove_webhook(resources: Resources, context: RequestContext, webhook_id: str) -> None:
    """Tell nothing more to an address, and forget what was told."""
    with unit_of_work(resources, context) as uow:
        _own(uow.connection, context, webhook_id)
        webhooks.remove(uow.connection, webhook_id)
        uow.record("webhook.remove", webhook_id)


def list_messages(
    resources: Resources, context: RequestContext, webhook_id: str, *, after: str, limit: int
) -> list[WebhookMessage]:
    """What was told, how often it was tried, and the last answer."""
    with reading(resources.engine) as connection:
        _own(connection, context, webhook_id)
        return webhooks.messages_of(connection, webhook_id, after=after, limit=limit)


def send_again(
    resources: Resources, context: RequestContext, webhook_id: str, message_id: str
) -> WebhookMessage:
    """Send a message once more, delivered or given up, with the same id."""
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        hook = _own(connection, context, webhook_id)
        message = webhooks.message(connection, message_id)
        if message is None or message.webhook != webhook_id:
            raise Hidden(f"there is no message {message_id!r} for this principal")
        nothing: datetime | None = None
        webhooks.mark(connection, message_id, delivered_at=nothing, given_up_at=nothing)
        send_soon(resources, connection, hook, message_id, by_hand=True)
        uow.record("webhook.send", message_id)
        again = webhooks.message(connection, message_id)
        assert again is not None
    return again


def _own(connection: Connection, context: RequestContext, webhook_id: str) -> Webhook:
    hook = webhooks.one(connection, webhook_id)
    if hook is None or hook.principal != context.principal.id:
        raise Hidden(f"there is no webhook {webhook_id!r} for this principal")
    return hook
