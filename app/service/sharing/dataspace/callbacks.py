"""Callbacks: messages to consumers of a data space, in order for each negotiation and transfer.

A refused message (4xx) is given up, which the agreement's log records, and the next one is sent. Statuses that
may pass are retried.

An agreement that changed is reported, whoever changed it; its transfers end with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import orjson
from sqlalchemy import Connection

from app.agreement import Agreement, Party, State
from app.errors import InvalidParameter
from app.service.resources import Resources
from app.service.sharing.dataspace.offers import agreed_policy, offered_policy
from app.service.sharing.dataspace.transfer_state import FINAL, TransferMessage, change
from app.service.sharing.dataspace.vocabulary import AGREEMENT, NEGOTIATION, message
from app.service.sharing.events import AgreementChanged
from app.service.sharing.outbox import outbox
from app.service.sharing.outbox.http_post import check_url
from app.service.sharing.outbox.outbox import MessageFormat, PostRequest
from app.store.database import chained_logs, installation
from app.store.database.sharing import agreements, dataspace, principals, transfers
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


ENDED = "The agreement was ended."


def call_back_after_change(
    resources: Resources, connection: Connection, event: AgreementChanged
) -> None:
    """Report the provider's message to the consumer, and end the transfers of a terminated agreement."""
    agreement = event.agreement
    if agreement.state is State.TERMINATED:
        _end_transfers(resources, connection, agreement)
    negotiation = dataspace.of_agreement(connection, agreement.id)
    if negotiation is None:
        return
    if len(agreement.terms.items) != 1:
        raise InvalidParameter(
            "An agreement of a data space is about one level of one data set.", parameter="items"
        )
    content = _message(resources, connection, agreement) if event.party is Party.PROVIDER else None
    if content is None:
        return
    path, kind, members = content
    body = message(
        kind,
        providerPid=NEGOTIATION + agreement.id,
        consumerPid=negotiation.consumer_pid,
        **members,
    )
    process = Process(
        agreement.id,
        agreement.id,
        negotiation.consumer,
        negotiation.callback,
        "negotiations",
        negotiation.consumer_pid,
    )
    call_back(resources, connection, process, path, body)


def provider_participant(resources: Resources, connection: Connection) -> str:
    """Return our participant id."""
    known = installation.find(connection)
    return resources.outside.participant_id or f"urn:cornerwave:{known.id if known else ''}"


def _message(
    resources: Resources, connection: Connection, agreement: Agreement
) -> tuple[str, str, dict[str, Any]] | None:
    """Return path, type and members of the provider's message; None where the protocol has none."""
    if agreement.state is State.OFFERED:
        return "offers", "ContractOfferMessage", {"offer": offered_policy(agreement)}
    if agreement.state is State.AGREED:
        record = principals.one(connection, agreement.consumer)
        agreed = agreed_policy(
            agreement,
            AGREEMENT + agreement.id,
            provider_participant(resources, connection),
            (record and record.participant_id) or f"urn:cornerwave:principal:{agreement.consumer}",
        )
        return "agreement", "ContractAgreementMessage", {"agreement": agreed}
    if agreement.state is State.FINALIZED:
        return "events", "ContractNegotiationEventMessage", {"eventType": "FINALIZED"}
    if agreement.state is State.TERMINATED and agreement.finalized_at is None:
        return "termination", "ContractNegotiationTerminationMessage", {}
    # The protocol's negotiation ends with FINALIZED; transfers report the rest.
    return None


def _end_transfers(resources: Resources, connection: Connection, agreement: Agreement) -> None:
    for listed in transfers.of_agreement(connection, agreement.id):
        transfers.lock(connection, listed.id)
        transfer = transfers.one(connection, listed.id)
        if transfer is not None and transfer.state not in FINAL:
            change(
                resources,
                connection,
                transfer,
                Party.PROVIDER,
                TransferMessage.TERMINATE,
                principal=agreement.provider,
                reason=ENDED,
            )
