"""Callbacks: messages to consumers of a data space, in order for each negotiation and transfer.

A refused message (4xx) is given up, which the agreement's log records, and the next one is sent. Statuses that
may pass are retried.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import orjson
from sqlalchemy import Connection

from app.errors import InvalidParameter
from app.service.resources import Resources
from app.service.sharing.outbox import outbox
from app.service.sharing.outbox.http_post import check_url
from app.service.sharing.outbox.outbox import MessageFormat, PostRequest
from app.store.database import chained_logs
from app.store.database.sharing import agreements
from app.store.database.sharing.outbox import OutboxMessage

DELAY = timedelta(seconds=0.5)
"""From the transaction to the callback: the consumer learns our id of a process from the answer before it."""

TRANSIENT = (404, 408, 425, 429)
"""Statuses that are retried; 404 while a consumer still processes the previous message."""


@dataclass(frozen=True)
class Process:
    """Negotiation or transfer, as its consumer is called back.

    where:
        kind          `negotiations` or `transfers`
        consumer_pid  the consumer's id of it
    """

    id: str
    agreement: str
    consumer: str
    callback: str
    kind: str
    consumer_pid: str


def checked_callback(resources: Resources, callback: str) -> str:
    """Return the address without its last slash; InvalidParameter when it is not allowed."""
    check_url(resources, callback, "callbackAddress")
    if "?" in callback:
        raise InvalidParameter(
            "The callback address must have no query.", parameter="callbackAddress"
        )
    return callback.rstrip("/")


def call_back(
    resources: Resources, connection: Connection, process: Process, path: str, body: dict[str, Any]
) -> None:
    """Enqueue a message to the consumer of a process, which this transaction has locked."""
    outbox.enqueue(
        resources,
        connection,
        format_name=FORMAT.name,
        stream=process.id,
        receiver=process.consumer,
        agreement=process.agreement,
        event=str(body["@type"]),
        body=orjson.dumps(body),
        url=f"{process.callback}/{process.kind}/{quote(process.consumer_pid, safe=':')}/{path}",
        run_at=datetime.now(UTC) + DELAY,
    )


def _request(
    _resources: Resources, _connection: Connection, message: OutboxMessage, _body: bytes
) -> PostRequest:
    assert message.url is not None
    return PostRequest(message.url)


def _record_refusal(connection: Connection, message: OutboxMessage, answer: str) -> None:
    agreements.lock(connection, message.agreement)
    facts = {"message": message.event, "answer": answer}
    chained_logs.append_agreement(connection, message.agreement, "callback-refused", facts)


FORMAT = MessageFormat(
    "dataspace",
    _request,
    is_refusal=lambda status: 400 <= status < 500 and status not in TRANSIENT,
    keeps_body=False,
    on_give_up=_record_refusal,
)
