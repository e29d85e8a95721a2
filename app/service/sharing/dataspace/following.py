"""What a data space is told when an agreement changes, whoever changed it by whichever door."""

from __future__ import annotations

from sqlalchemy import Connection

from app.agreement import Agreement, Party, State
from app.errors import InvalidParameter
from app.service.resources import Resources
from app.service.sharing.dataspace.callbacks import Process, tell
from app.service.sharing.dataspace.changing import change
from app.service.sharing.dataspace.offers import agreed_policy, offered_policy
from app.service.sharing.dataspace.states import OVER, Message
from app.service.sharing.dataspace.words import AGREEMENT, NEGOTIATION, message
from app.store.database import installation
from app.store.database.sharing import dataspace, principals, transfers
from app.store.database.sharing.dataspace import Negotiation

ENDED = "The agreement was ended."


def follow_in_dataspace(
    resources: Resources, connection: Connection, agreement: Agreement, party: Party
) -> Agreement:
    """Tell the consumer what the provider said, and end transfers with their agreement."""
    if agreement.state is State.TERMINATED:
        agreement = _end_transfers(resources, connection, agreement)
    negotiation = dataspace.of_agreement(connection, agreement.id)
    if negotiation is None:
        return agreement
    if len(agreement.terms.items) != 1:
        raise InvalidParameter(
            "An agreement of a data space is about one level of one data set.", parameter="items"
        )
    if party is Party.PROVIDER:
        _tell(resources, connection, agreement, negotiation)
    return agreement


def provider_participant(resources: Resources, connection: Connection) -> str:
    """Who we are in a data space."""
    known = installation.find(connection)
    return resources.outside.participant_id or f"urn:cornerwave:{known.id if known else ''}"


def _tell(
    resources: Resources, connection: Connection, agreement: Agreement, negotiation: Negotiation
) -> None:
    ids = {
        "providerPid": NEGOTIATION + agreement.id,
        "consumerPid": negotiation.consumer_pid,
    }
    if agreement.state is State.OFFERED:
        offer = offered_policy(agreement)
        path, body = "offers", message("ContractOfferMessage", **ids, offer=offer)
    elif agreement.state is State.AGREED:
        record = principals.one(connection, agreement.consumer)
        agreed = agreed_policy(
            agreement,
            AGREEMENT + agreement.id,
            provider_participant(resources, connection),
            (record and record.participant_id) or f"urn:cornerwave:principal:{agreement.consumer}",
        )
        path, body = "agreement", message("ContractAgreementMessage", **ids, agreement=agreed)
    elif agreement.state is State.FINALIZED:
        event = message("ContractNegotiationEventMessage", **ids, eventType="FINALIZED")
        path, body = "events", event
    elif agreement.state is State.TERMINATED and agreement.finalized_at is None:
        path, body = "termination", message("ContractNegotiationTerminationMessage", **ids)
    else:
        # The protocol's negotiation is over once it is finalized; transfers tell of the rest.
        return
    place = "negotiations", negotiation.consumer_pid
    process = Process(agreement.id, agreement.id, negotiation.callback, *place)
    tell(resources, connection, process, path, body)


def _end_transfers(resources: Resources, connection: Connection, agreement: Agreement) -> Agreement:
    for transfer in transfers.of_agreement(connection, agreement.id):
        transfers.lock(connection, transfer.id)
        now = transfers.one(connection, transfer.id)
        if now is not None and now.state not in OVER:
            agreement, _ = change(
                resources,
                connection,
                agreement,
                now,
                Party.PROVIDER,
                Message.TERMINATE,
                principal=agreement.provider,
                reason=ENDED,
            )
    return agreement
