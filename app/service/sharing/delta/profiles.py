"""Delta Sharing profile of an agreement, with a key for its share alone.

Keys are stored as hashes and cannot be shown again: each profile has a new key and revokes the previous one.
The key ends with the agreement, at a termination at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from app.agreement import Party, State, is_in_force
from app.errors import InvalidState, Refusal
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.agreements.lookup import locked_agreement, party_of
from app.service.sharing.events import AgreementChanged
from app.service.unit_of_work import unit_of_work
from app.store.database import chained_logs
from app.store.database.chained_logs import Fact
from app.store.database.engine import moment
from app.store.database.sharing import principals


@dataclass(frozen=True, repr=False)
class Profile:
    """Key for one agreement, and when it expires unless it is revoked before."""

    key: str
    expires_at: datetime | None


def give_profile(resources: Resources, context: RequestContext, agreement_id: str) -> Profile:
    """Return a new key to the recipient of a finalized agreement, and revoke the previous one."""
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        agreement = locked_agreement(connection, context, agreement_id)
        if party_of(context, agreement) is not Party.CONSUMER:
            raise Refusal("a profile is for the recipient of the agreement alone")
        now, terms = moment(connection), agreement.terms
        begins_later = agreement.state is State.FINALIZED and now < terms.starts_at
        if not (is_in_force(agreement, now) or begins_later):
            raise InvalidState(
                "there is a profile while the agreement is finalized and has not ended",
                state=agreement.state.value,
            )
        ended = principals.revoke_share_keys(connection, agreement_id, now)
        key = principals.add_key(connection, context.principal.id, now, agreement=agreement_id)
        key_id = principals.public_id(key)
        facts: dict[str, Fact] = {"key": key_id, "ended": ended}
        principal = context.principal.id
        chained_logs.append_agreement(
            connection, agreement_id, "profile", facts, principal=principal
        )
        uow.record("agreement.profile", agreement_id, **facts)
    return Profile(key, None if terms.renews else terms.ends_at)


def revoke_after_change(
    _resources: Resources, connection: Connection, event: AgreementChanged
) -> None:
    """Revoke the keys of profiles when their agreement is terminated."""
    if event.agreement.state is State.TERMINATED:
        principals.revoke_share_keys(connection, event.agreement.id, moment(connection))
