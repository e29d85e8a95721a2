"""Callbacks to a data space about changes of an agreement; its transfers end with it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from app.agreement import Agreement, Party, State
from app.errors import InvalidParameter
from app.service.resources import Resources
from app.service.sharing.dataspace.callbacks import Process, call_back
from app.service.sharing.dataspace.offers import agreed_policy, offered_policy
from app.service.sharing.dataspace.transfer_state import FINAL, TransferMessage, change
from app.service.sharing.dataspace.vocabulary import AGREEMENT, NEGOTIATION, message
from app.service.sharing.events import AgreementChanged
from app.store.database import installation
from app.store.database.sharing import dataspace, principals, transfers

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
