"""Agreements as they are, for their parties and for those who look on: who may know of one, and on which side it stands."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from app.agreement import Agreement, AgreementEntry, Party, State
from app.errors import Hidden, NotFound, Refusal
from app.model import Role
from app.service.asking import Ask, overseen
from app.service.resources import Resources
from app.store.database.engine import reading
from app.store.database.registered import datasets
from app.store.database.sharing import agreement_log, agreements, callers, deliveries
from app.store.database.sharing.deliveries import PlannedDelivery


def known_agreement(connection: Connection, ask: Ask, agreement_id: str) -> Agreement:
    """The agreement, for its parties, administrators and auditors; for others it does not exist."""
    agreement = agreements.one(connection, agreement_id)
    absent = f"there is no agreement {agreement_id!r} for this caller"
    if ask.caller.role in (Role.ADMIN, Role.AUDITOR):
        if agreement is None:
            raise NotFound(absent)
        return agreement
    if agreement is None or ask.caller.id not in (agreement.provider, agreement.consumer):
        raise Hidden(absent)
    return agreement


def party_of(ask: Ask, agreement: Agreement) -> Party | None:
    """The side on which a caller stands: an administrator stands in for the provider."""
    if ask.caller.id == agreement.consumer:
        return Party.CONSUMER
    if ask.caller.id == agreement.provider or ask.caller.role is Role.ADMIN:
        return Party.PROVIDER
    return None


def acting_party(ask: Ask, agreement: Agreement) -> Party:
    """The same; Refusal for those who only look on."""
    party = party_of(ask, agreement)
    if party is None:
        raise Refusal("only the two parties of an agreement may act on it")
    return party


def show_agreement(resources: Resources, ask: Ask, agreement_id: str) -> Agreement:
    """One agreement."""
    with reading(resources.engine) as connection:
        return known_agreement(connection, ask, agreement_id)


def list_agreements(
    resources: Resources, ask: Ask, *, after: str, limit: int, state: State | None
) -> list[Agreement]:
    """Agreements by id: the caller's own, or all for administrators and auditors."""
    everything = ask.caller.role in (Role.ADMIN, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return agreements.page(
            connection,
            after=after,
            limit=limit,
            party=None if everything else ask.caller.id,
            state=state,
        )


def agreements_about(
    resources: Resources, ask: Ask, dataset_id: str, *, after: str, limit: int
) -> list[Agreement]:
    """Agreements about a data set by id, for those who answer for it."""
    with reading(resources.engine) as connection:
        overseen(connection, ask, dataset_id)
        return agreements.page(connection, after=after, limit=limit, dataset=dataset_id)


def read_agreement_log(
    resources: Resources, ask: Ask, agreement_id: str, *, after: int, limit: int
) -> list[AgreementEntry]:
    """The entries of an agreement's own log, in order."""
    with reading(resources.engine) as connection:
        known_agreement(connection, ask, agreement_id)
        return agreement_log.page(connection, agreement_id, after=after, limit=limit)


def list_deliveries(
    resources: Resources, ask: Ask, agreement_id: str, *, after: str, limit: int
) -> list[PlannedDelivery]:
    """What was or is to be delivered under an agreement."""
    with reading(resources.engine) as connection:
        known_agreement(connection, ask, agreement_id)
        return deliveries.of(connection, agreement_id, after=after, limit=limit)


def names_in(resources: Resources, found: Sequence[Agreement]) -> dict[str, str]:
    """The names of parties and data sets by id, for who was shown these agreements."""
    parties = {party for one in found for party in (one.provider, one.consumer)}
    shared = {item.dataset for one in found for item in one.terms.items}
    with reading(resources.engine) as connection:
        return callers.names(connection, parties) | datasets.names(connection, shared)
