"""Agreements as they are, for their parties and for those who look on."""

from __future__ import annotations

from collections.abc import Sequence

from app.agreement import Agreement, AgreementEntry, State
from app.model import Role
from app.service.access import overseen
from app.service.asking import Ask
from app.service.resources import Resources
from app.service.sharing.agreements.parties import known_agreement
from app.store.database.engine import reading
from app.store.database.registered import datasets
from app.store.database.sharing import agreement_log, agreements, callers, deliveries
from app.store.database.sharing.deliveries import PlannedDelivery


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
