"""Transactional outbox: a message is inserted in the transaction that it reports, sent by a job, and retried.

Attempts continue for about a day. Ordered messages of a stream are sent one after another: a message waits
until those before it were delivered or given up. A receiver may get a message twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import Connection

from app.job import Job
from app.service.context import new_id
from app.service.jobs.enqueue import enqueue as enqueue_job
from app.service.jobs.job_types import JobType, Outcome, Pool, TryAgain
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.outbox.http_post import post
from app.service.sharing.outbox.smtp import send_email
from app.store.database.engine import reading, writing
from app.store.database.sharing import outbox
from app.store.database.sharing.outbox import OutboxMessage

SEND = "outbox"
RETRY_DELAYS = (5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0, 21600.0, 37200.0)
"""Seconds between attempts: about a day in all."""


class Void(Exception):
    """The message must not be sent any more; one sentence says why."""


@dataclass(frozen=True)
class PostRequest:
    """Address and headers of a message."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Email:
    """Receiver and content of an e-mail."""

    to: str
    subject: str
    text: str


@dataclass(frozen=True)
class MessageFormat:
    """Format of messages.

    where:
        request      where a message with this body goes; Void when it must not be sent
        is_refusal   whether a status ends the attempts
        keeps_body   whether the body remains when the message has ended
        on_give_up   called in the transaction that gives a message up
    """

    name: str
    request: Callable[[Resources, Connection, OutboxMessage, bytes], PostRequest | Email]
    is_refusal: Callable[[int], bool]
    keeps_body: bool = True
    on_give_up: Callable[[Connection, OutboxMessage, str], None] | None = None


def enqueue(
    resources: Resources,
    connection: Connection,
    *,
    format_name: str,
    stream: str,
    receiver: str,
    agreement: str,
    event: str,
    body: bytes,
    cause: str | None = None,
    url: str | None = None,
    run_at: datetime | None = None,
) -> None:
    """Insert a message, to be sent once this transaction is committed; of one cause once.

    Without a cause the message is ordered; its stream must be locked by this transaction.
    """
    message_id = new_id("msg")
    sequence = outbox.next_sequence(connection, stream) if cause is None else None
    message = OutboxMessage(
        id=message_id,
        format=format_name,
        stream=stream,
        sequence=sequence,
        cause=cause or str(sequence),
        receiver=receiver,
        agreement=agreement,
        event=event,
        url=url,
        body=resources.vault.seal(body, _seal(message_id)),
        created_at=datetime.now(UTC),
    )
    if outbox.add(connection, message):
        schedule(resources, connection, message, run_at=run_at)


def schedule(
    resources: Resources,
    connection: Connection,
    message: OutboxMessage,
    *,
    run_at: datetime | None = None,
    again: bool = False,
) -> None:
    """Enqueue the job that sends a message; `again` beside a job that still waits."""
    enqueue_job(
        connection,
        resources,
        kind=SEND,
        subject=message.id,
        payload={},
        principal=None,
        run_at=run_at,
        # All addresses of one principal are one receiver.
        concurrency_key=message.receiver,
        dedup_key=None if again else f"{SEND}:{message.id}",
    )


def open_body(resources: Resources, message: OutboxMessage) -> bytes:
    """Return the body of a message that still has one."""
    assert message.body is not None  # it is dropped when the message ends
    return resources.vault.open(message.body, _seal(message.id))


def job_type(*formats: MessageFormat) -> JobType:
    """Return the type of jobs that send messages of these formats."""
    by_name = {one.name: one for one in formats}

    def handle(resources: Resources, job: Job, progress: Progress) -> Outcome:
        return _send(resources, job, progress, by_name)

    return JobType(handle, retry_delays=RETRY_DELAYS, pool=Pool.MESSAGES)


def _send(
    resources: Resources, job: Job, progress: Progress, formats: Mapping[str, MessageFormat]
) -> Outcome:
    """Send a message and the ordered ones behind it; TryAgain while it cannot be delivered."""
    last = job.attempts >= resources.jobs.job_types[SEND].attempts
    with reading(resources.engine) as connection:
        message = outbox.one(connection, job.subject)
        if message is None or not message.is_pending:
            return Outcome()
        pending = outbox.first_pending(connection, message)
    if pending is not None and pending.id != message.id and not last:
        raise TryAgain
    while pending is not None:
        progress.raise_if_cancelled()
        if not _attempt(resources, formats[pending.format], pending, last):
            raise TryAgain
        with reading(resources.engine) as connection:
            pending = outbox.first_pending(connection, message)
    return Outcome()


def _attempt(
    resources: Resources, message_format: MessageFormat, message: OutboxMessage, last: bool
) -> bool:
    """Try to send a message; return whether it has ended."""
    status, delivered = None, False
    body = open_body(resources, message)
    try:
        with reading(resources.engine) as connection:
            request = message_format.request(resources, connection, message, body)
        status, answer = _deliver(resources, request, body)
        delivered = status is not None and 200 <= status < 300
        refused = status is not None and message_format.is_refusal(status)
    except Void as void:
        refused, answer = True, str(void)
    now, given_up = datetime.now(UTC), not delivered and (refused or last)
    values: dict[str, object] = {}
    if delivered or given_up:
        values["delivered_at" if delivered else "given_up_at"] = now
        if not message_format.keeps_body:
            values["body"] = None
    with writing(resources.engine) as connection:
        first = outbox.record_attempt(connection, message.id, now, answer, **values)
        # Two jobs may send the same message; its end is reported once.
        if first and given_up and message_format.on_give_up is not None:
            message_format.on_give_up(connection, message, answer)
    return delivered or given_up


def _deliver(
    resources: Resources, request: PostRequest | Email, body: bytes
) -> tuple[int | None, str]:
    if isinstance(request, PostRequest):
        networks = resources.outside.webhook_networks
        return post(request.url, networks, body, request.headers)
    if resources.outside.mail is None:
        raise Void("not sent: no mail server is configured")
    return send_email(resources.outside.mail, request.to, request.subject, request.text)


def _seal(message_id: str) -> str:
    return f"outbox:{message_id}"
