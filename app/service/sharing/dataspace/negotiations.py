"""Contract negotiations of the Dataspace Protocol: agreements with the same states, rules, log and signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from app.agreement import Agreement, Message, State
from app.errors import Conflict, Hidden, InvalidParameter, InvalidState, Refusal
from app.model import Role
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.agreements import negotiation as contracts
from app.service.sharing.agreements.terms import Draft
from app.service.sharing.dataspace.callbacks import checked_callback
from app.service.sharing.dataspace.catalog import known_offer
from app.service.sharing.dataspace.offers import current_offer
from app.service.sharing.dataspace.policies import draft_from_offer, draft_from_terms
from app.service.sharing.dataspace.vocabulary import NEGOTIATION, dataset_urn, own
from app.store.database.engine import reading
from app.store.database.sharing import agreements, dataspace, principals
from app.store.database.sharing.dataspace import Negotiation


@dataclass(frozen=True)
class ContractNegotiation:
    """Negotiation in terms of the protocol: FINALIZED is final, whatever happens to the agreement."""

    provider_pid: str
    consumer_pid: str
    state: State

    @classmethod
    def of(cls, agreement: Agreement, negotiation: Negotiation) -> ContractNegotiation:
        final = agreement.finalized_at is not None
        state = State.FINALIZED if final else agreement.state
        return cls(NEGOTIATION + agreement.id, negotiation.consumer_pid, state)


def request_negotiation(
    resources: Resources,
    context: RequestContext,
    consumer_pid: str,
    policy: Mapping[str, Any],
    callback: str,
) -> ContractNegotiation:
    """Open a negotiation; the same request again returns the one that it opened."""
    require_participant(resources, context)
    offer_id = str(policy["@id"])
    address = checked_callback(resources, callback)
    found = _opened_before(resources, context, consumer_pid, offer_id, address)
    if found is not None:
        return found
    with reading(resources.engine) as connection:
        offer = known_offer(connection, context, offer_id)
    if policy.get("target") != offer.target:
        raise InvalidParameter("The target must be the data set of the offer.", parameter="target")
    draft = draft_from_offer(offer, policy, datetime.now(UTC))

    def store_negotiation(connection: Connection, agreement_id: str) -> None:
        negotiation = Negotiation(
            agreement_id, context.principal.id, consumer_pid, offer_id, address
        )
        dataspace.add(connection, negotiation)

    try:
        agreement = contracts.open_agreement(resources, context, draft, None, store_negotiation)
    except Conflict:
        # The same request, sent at the same time, may have come first.
        found = _opened_before(resources, context, consumer_pid, offer_id, address)
        if found is None:
            raise
        return found
    return ContractNegotiation(NEGOTIATION + agreement.id, consumer_pid, agreement.state)


def show_negotiation(
    resources: Resources, context: RequestContext, provider_pid: str
) -> ContractNegotiation:
    """Return a negotiation to its consumer."""
    with reading(resources.engine) as connection:
        return ContractNegotiation.of(*_known(connection, context, provider_pid))


def counter(
    resources: Resources,
    context: RequestContext,
    provider_pid: str,
    consumer_pid: str,
    policy: Mapping[str, Any],
) -> None:
    """Answer an offer with other terms: of the catalogue, or the present ones changed."""
    with reading(resources.engine) as connection:
        agreement, negotiation = _known(connection, context, provider_pid)
        _require_pid(negotiation, consumer_pid)
        draft = _countered(connection, context, agreement, policy)
    contracts.send(resources, context, agreement.id, Message.REQUEST, draft=draft)


def send_message(
    resources: Resources,
    context: RequestContext,
    provider_pid: str,
    consumer_pid: str,
    message: Message,
    reason: str | None = None,
) -> None:
    """Accept, verify or terminate, as the consumer."""
    with reading(resources.engine) as connection:
        agreement, negotiation = _known(connection, context, provider_pid)
    _require_pid(negotiation, consumer_pid)
    if agreement.finalized_at is not None:
        raise InvalidState("The negotiation is finalized and accepts no more messages.")
    contracts.send(resources, context, agreement.id, message, reason=reason)


def require_participant(resources: Resources, context: RequestContext) -> None:
    """Raise Refusal unless the principal is a recipient with a participant id."""
    with reading(resources.engine) as connection:
        record = principals.one(connection, context.principal.id)
    if (
        context.principal.role is not Role.RECIPIENT
        or record is None
        or record.participant_id is None
    ):
        raise Refusal(
            "This needs the key of a recipient with a participant id, which whoever runs the service"
            " can give it."
        )


def _opened_before(
    resources: Resources, context: RequestContext, consumer_pid: str, offer_id: str, callback: str
) -> ContractNegotiation | None:
    with reading(resources.engine) as connection:
        negotiation = dataspace.of_consumer(connection, context.principal.id, consumer_pid)
        if negotiation is None:
            return None
        if (negotiation.offer, negotiation.callback) != (offer_id, callback):
            raise Conflict("This consumerPid is that of another negotiation.")
        agreement = agreements.one(connection, negotiation.agreement)
    assert agreement is not None  # the negotiation has a foreign key on it
    return ContractNegotiation.of(agreement, negotiation)


def _known(
    connection: Connection, context: RequestContext, provider_pid: str
) -> tuple[Agreement, Negotiation]:
    agreement_id = own(NEGOTIATION, provider_pid)
    agreement = agreements.one(connection, agreement_id)
    negotiation = dataspace.of_agreement(connection, agreement_id)
    if agreement is None or negotiation is None or negotiation.consumer != context.principal.id:
        raise Hidden("There is no such negotiation for this principal.")
    return agreement, negotiation


def _require_pid(negotiation: Negotiation, consumer_pid: str) -> None:
    if negotiation.consumer_pid != consumer_pid:
        raise InvalidParameter(
            "The consumerPid is not that of this negotiation.", parameter="consumerPid"
        )


def _countered(
    connection: Connection, context: RequestContext, agreement: Agreement, policy: Mapping[str, Any]
) -> Draft:
    now = datetime.now(UTC)
    offer_id, target = str(policy["@id"]), policy.get("target")
    if offer_id == current_offer(agreement):
        item = agreement.terms.items[0]
        known = dataset_urn(item.dataset, item.level)
        draft = draft_from_terms(agreement, policy, now)
    else:
        offer = known_offer(connection, context, offer_id)
        known, draft = offer.target, draft_from_offer(offer, policy, now)
    if target != known:
        raise InvalidParameter("The target must be the data set of the offer.", parameter="target")
    return draft
