"""Who may know of an agreement, and on which side a caller stands."""

from __future__ import annotations

from sqlalchemy import Connection

from app.agreement import Agreement, Party
from app.errors import Hidden, NotFound, Refusal
from app.model import Role
from app.service.asking import Ask
from app.store.database.sharing import agreements


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
