"""Lookup of agreements: who may see one, on which side a principal stands, lists, and the hash of a right to a subject."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sqlalchemy import Connection

from app.agreement import Agreement, AgreementEntry, Party, PlannedDelivery, State
from app.errors import Hidden, NotFound, Refusal
from app.model import Role
from app.service.context import RequestContext, auditable_dataset, live_grants, visible
from app.service.resources import Resources
from app.store.database import chained_logs
from app.store.database.datasets import datasets, levels
from app.store.database.engine import reading
from app.store.database.sharing import agreements, deliveries, principals


def known_agreement(
    connection: Connection, context: RequestContext, agreement_id: str
) -> Agreement:
    """Return an agreement to its parties, administrators and auditors; Hidden for others."""
    agreement = agreements.one(connection, agreement_id)
    absent = f"there is no agreement {agreement_id!r} for this principal"
    if context.principal.role in (Role.ADMIN, Role.AUDITOR):
        if agreement is None:
            raise NotFound(absent)
        return agreement
    if agreement is None or context.principal.id not in (agreement.provider, agreement.consumer):
        raise Hidden(absent)
    return agreement


def locked_agreement(
    connection: Connection, context: RequestContext, agreement_id: str
) -> Agreement:
    """Lock an agreement until the transaction ends, and return it as `known_agreement` does."""
    known_agreement(connection, context, agreement_id)
    agreements.lock(connection, agreement_id)
    return known_agreement(connection, context, agreement_id)


def party_of(context: RequestContext, agreement: Agreement) -> Party | None:
    """Return the side of a principal; administrators act for the provider."""
    if context.principal.id == agreement.consumer:
        return Party.CONSUMER
    if context.principal.id == agreement.provider or context.principal.role is Role.ADMIN:
        return Party.PROVIDER
    return None


def acting_party(context: RequestContext, agreement: Agreement) -> Party:
    """Return the side of a principal; Refusal for auditors."""
    party = party_of(context, agreement)
    if party is None:
        raise Refusal("only the two parties of an agreement may act on it")
    return party


def show_agreement(resources: Resources, context: RequestContext, agreement_id: str) -> Agreement:
    """Return an agreement."""
    with reading(resources.engine) as connection:
        return known_agreement(connection, context, agreement_id)


def list_agreements(
    resources: Resources, context: RequestContext, *, after: str, limit: int, state: State | None
) -> list[Agreement]:
    """Return agreements by id: the principal's own, or all for administrators and auditors."""
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
    """Return agreements about a data set by id, to its owner, administrators and auditors."""
    with reading(resources.engine) as connection:
        auditable_dataset(connection, context, dataset_id)
        return agreements.page(connection, after=after, limit=limit, dataset=dataset_id)


def read_agreement_log(
    resources: Resources, context: RequestContext, agreement_id: str, *, after: int, limit: int
) -> list[AgreementEntry]:
    """Return the entries of an agreement's log, in order."""
    with reading(resources.engine) as connection:
        known_agreement(connection, context, agreement_id)
        return chained_logs.agreement_page(connection, agreement_id, after=after, limit=limit)


def list_deliveries(
    resources: Resources, context: RequestContext, agreement_id: str, *, after: str, limit: int
) -> list[PlannedDelivery]:
    """Return the deliveries under an agreement by id."""
    with reading(resources.engine) as connection:
        known_agreement(connection, context, agreement_id)
        return deliveries.of(connection, agreement_id, after=after, limit=limit)


def names_in(resources: Resources, found: Sequence[Agreement]) -> dict[str, str]:
    """Return the names of the parties and data sets of these agreements, by id."""
    parties = {party for one in found for party in (one.provider, one.consumer)}
    shared = {item.dataset for one in found for item in one.terms.items}
    with reading(resources.engine) as connection:
        return principals.names(connection, parties) | datasets.names(connection, shared)


def right_to(resources: Resources, context: RequestContext, subject: str) -> str:
    """A hash of why this principal may know of the subject; another when anything of it changed.

    For a data set that is the role, and for a recipient its grants and the granted levels'
    variances. NotFound, as ever, when the principal may not know of the data set any more.
    """
    role = context.principal.role
    with reading(resources.engine) as connection:
        if subject.startswith("ds_"):
            _, grant = visible(connection, context, subject)
            granted = [] if grant is None else live_grants(connection, context, subject)
            known = [levels.one(connection, subject, one.level) for one in granted]
            variances = [level and level.noise_variance for level in known]
            reason = f"{role} {granted} {variances}"
        elif subject.startswith("rc_"):
            record = principals.one(connection, subject)
            if record is None or record.revoked_at is not None:
                raise NotFound(f"there is no principal {subject!r}, or it was revoked")
            own = subject == context.principal.id
            reason = f"{role} {own if role is Role.RECIPIENT else ''}"
        elif subject.startswith("ag_"):
            agreement = known_agreement(connection, context, subject)
            reason = f"{role} {party_of(context, agreement)}"
        else:
            reason = str(role)
    return hashlib.sha256(reason.encode()).hexdigest()
