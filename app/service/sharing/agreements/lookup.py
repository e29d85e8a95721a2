"""Agreements as they are, for their parties and for those who look on: who may know of one, and on which side it stands."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from app.agreement import Agreement, AgreementEntry, Party, State
from app.errors import Hidden, NotFound, Refusal
from app.model import Role
from app.service.context import RequestContext, overseen
from app.service.resources import Resources
from app.store.database.datasets import datasets
from app.store.database.engine import reading
from app.store.database.sharing import agreement_log, agreements, deliveries, principals
from app.store.database.sharing.deliveries import PlannedDelivery


def known_agreement(
    connection: Connection, context: RequestContext, agreement_id: str
) -> Agreement:
    """The agreement, for its parties, administrators and auditors; for others it does not exist."""
    agreement = agreements.one(connection, agreement_id)
    absent = f"there is no agreement {agreement_id!r} for this principal"
    if context.principal.role in (Role.ADMIN, Role.AUDITOR):
        if agreement is None:
            raise NotFound(absent)
        return agreement
    if agreement is None or context.principal.id not in (agreement.provider, agreement.consumer):
        raise Hidden(absent)
    return agreement


def party_of(context: RequestContext, agreement: Agreement) -> Party | None:
    """The side on which a principal stands: an administrator stands in for the provider."""
    if context.principal.id == agreement.consumer:
        return Party.CONSUMER
    if context.principal.id == agreement.provider or context.principal.role is Role.ADMIN:
        return Party.PROVIDER
    return None


def acting_party(context: RequestContext, agreement: Agreement) -> Party:
    """The same; Refusal for those who only look on."""
    party = party_of(context, agreement)
    if party is None:
        raise Refusal("only the two parties of an agreement may act on it")
    return party


def show_agreement(resources: Resources, context: RequestContext, agreement_id: str) -> Agreement:
    """One agreement."""
    with reading(resources.engine) as connection:
        return known_agreement(connection, context, agreement_id)


def list_agreements(
    resources: Resources, context: RequestContext, *, after: str, limit: int, state: State | None
) -> list[Agreement]:
    """Agreements by id: the principal's own, or all for administrators and auditors."""
    everything = context.principal.role in (Role.ADMIN, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return agreements.page(
            connection,
            after=after,
            limit=limit,
            party=None if everything else context.principal.id,
            state=state,
        )


def agreements_about(
    resources: Resources, context: RequestContext, dataset_id: str, *, after: str, limit: int
) -> list[Agreement]:
    """Agreements about a data set by id, for those who answer for it."""
    with reading(resources.engine) as connection:
        overseen(connection, context, dataset_id)
        return agreements.page(connection, after=after, limit=limit, dataset=dataset_id)


def read_agreement_log(
    resources: Resources, context: RequestContext, agreement_id: str, *, after: int, limit: int
) -> list[AgreementEntry]:
    """The entries of an agreement's own log, in order."""
    with reading(resources.engine) as connection:
        known_agreement(connection, context, agreement_id)
        return agreement_log.page(connection, agreement_id, after=after, limit=limit)


def list_deliveries(
    resources: Resources, context: RequestContext, agreement_id: str, *, after: str, limit: int
) -> list[PlannedDelivery]:
    """What was or is to be delivered under an agreement."""
    with reading(resources.engine) as connection:
        known_agreement(connection, context, agreement_id)
        return deliveries.of(connection, agreement_id, after=after, limit=limit)


def names_in(resources: Resources, found: Sequence[Agreement]) -> dict[str, str]:
    """The names of parties and data sets by id, for who was shown these agreements."""
    parties = {party for one in found for party in (one.provider, one.consumer)}
    shared = {item.dataset for one in found for item in one.terms.items}
    with reading(resources.engine) as connection:
        return principals.names(connection, parties) | datasets.names(connection, shared)
