"""What consumers are told: kept in the transaction it follows from, sent by jobs, in order.

A message goes where the address is judged anew at every try, as that of a webhook is. It is tried for
a day; who refuses one (4xx) is not asked again, and what comes after it is sent. Whoever got a
message twice finds the same process in the same state.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import orjson
from sqlalchemy import Connection

from app.errors import InvalidParameter
from app.service.context import new_id
from app.service.jobs.enqueue import enqueue
from app.service.jobs.job_types import JobType, Outcome, Pool, TryAgain
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.webhooks.outbox import RETRY_DELAYS
from app.service.sharing.webhooks.posting import AddressRefused, destination, posted
from app.store.database.engine import moment, reading, writing
from app.store.database.jobs import Job
from app.store.database.sharing import agreement_log, agreements, dataspace
from app.store.database.sharing.dataspace import Callback

SEND = "dataspace-message"
AFTER_THE_ANSWER = timedelta(seconds=0.5)
"""A consumer knows our name for a process from the answer that is on its way to it."""

PASSING = (404, 408, 425, 429)
"""Answers that may be others later; 404 while a consumer is still busy with the message before."""

SERVICE = "service"


@dataclass(frozen=True)
class Process:
    """A negotiation or a transfer, as far as telling its consumer goes.

    where:
        id            ours, by which messages are put in order
        kind          `negotiations` or `transfers`
        consumer_pid  the consumer's name for it
    """

    id: str
    agreement: str
    callback: str
    kind: str
    consumer_pid: str

    def url(self, path: str) -> str:
        """Where the consumer is told this, below its callback address."""
        return f"{self.callback}/{self.kind}/{quote(self.consumer_pid, safe=':')}/{path}"


def checked_callback(resources: Resources, callback: str) -> str:
    """The address without the slash at its end; InvalidParameter when we may not go there."""
    try:
        destination(callback, resources.outside.webhook_networks)
    except AddressRefused as refused:
        raise InvalidParameter(str(refused), parameter="callbackAddress") from None
    if "?" in callback:
        raise InvalidParameter(
            "The callback address must have no query.", parameter="callbackAddress"
        )
    return callback.rstrip("/")


def tell(
    resources: Resources, connection: Connection, process: Process, path: str, body: dict[str, Any]
) -> None:
    """Have the consumer of a process told, once this transaction is committed."""
    message_id, now = new_id("dm"), datetime.now(UTC)
    message = Callback(
        id=message_id,
        process=process.id,
        sequence=dataspace.next_sequence(connection, process.id),
        agreement=process.agreement,
        kind=str(body["@type"]),
        url=process.url(path),
        body=resources.vault.seal(orjson.dumps(body), _context(message_id)),
        created_at=now,
    )
    dataspace.add_message(connection, message)
    agreement = agreements.one(connection, process.agreement)
    assert agreement is not None  # nothing removes an agreement
    enqueue(
        connection,
        resources,
        kind=SEND,
        subject=message_id,
        payload={},
        principal=None,
        run_at=now + AFTER_THE_ANSWER,
        concurrency_key=agreement.consumer,
        dedup_key=f"{SEND}:{message_id}",
    )


def send_callback(resources: Resources, job: Job, progress: Progress) -> Outcome:
    """Send a message and those that wait behind it; TryAgain while one before it is not taken."""
    last = job.attempts >= resources.jobs.job_types[SEND].attempts
    with reading(resources.engine) as connection:
        wanted = dataspace.message(connection, job.subject)
        if wanted is None or wanted.ended_at is not None:
            return Outcome()
        message = dataspace.first_open(connection, wanted.process)
    if message is not None and message.id != wanted.id and not last:
        raise TryAgain
    while message is not None:
        progress.raise_if_cancelled()
        if not _taken_or_refused(resources, message, last):
            raise TryAgain
        with reading(resources.engine) as connection:
            message = dataspace.first_open(connection, wanted.process)
    return Outcome()


def _taken_or_refused(resources: Resources, message: Callback, last: bool) -> bool:
    """One try; whether the message is done with."""
    status, answer = _sent(resources, message)
    taken = status is not None and 200 <= status < 300
    refused = status is not None and 400 <= status < 500 and status not in PASSING
    ended = datetime.now(UTC) if taken or refused or last else None
    with writing(resources.engine) as connection:
        # The job of the message before and its own may both send it, and it is noted once.
        first = dataspace.tried(connection, message.id, answer, ended)
        if first and ended is not None and not taken:
            _note_silence(connection, message, answer)
    return ended is not None


def _sent(resources: Resources, message: Callback) -> tuple[int | None, str]:
    assert message.body is not None  # it goes when the message has ended
    body = resources.vault.open(message.body, _context(message.id))
    return posted(message.url, resources.outside.webhook_networks, body)


def _note_silence(connection: Connection, message: Callback, answer: str) -> None:
    """Keep in the agreement's log that its consumer did not take a message."""
    agreements.lock(connection, message.agreement)
    agreement = agreements.one(connection, message.agreement)
    assert agreement is not None  # nothing removes an agreement
    agreement_log.note(
        connection,
        agreement,
        at=max(moment(connection), agreement.changed_at),
        principal=SERVICE,
        event="callback-refused",
        facts={"message": message.kind, "answer": answer},
    )


def _context(message_id: str) -> str:
    return f"dataspace-message:{message_id}"


SENDING = JobType(send_callback, retry_delays=RETRY_DELAYS, pool=Pool.MESSAGES)
"""How messages to consumers are sent."""
