"""The profile of a share: where it is, and a key that is good for it and for nothing else.

A key is kept as a hash, so that none can be shown again: each profile carries a new key and ends the
one before it. The key ends with the agreement: at its end by the clock, at a termination at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.agreement import Party, State, is_in_force
from app.errors import Refusal, WrongState
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.agreements.lookup import known_agreement, party_of
from app.service.unit_of_work import unit_of_work
from app.store.database.engine import moment
from app.store.database.sharing import agreement_log, agreements, principals
from app.store.database.sharing.agreement_log import Fact


@dataclass(frozen=True, repr=False)
class Profile:
    """A key for one agreement, and when it ends if nobody ends it before."""

    key: str
    expires_at: datetime | None


def give_profile(resources: Resources, context: RequestContext, agreement_id: str) -> Profile:
    """A new key for the recipient of a finalized agreement; the one given before ends now."""
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        known_agreement(connection, context, agreement_id)
        agreements.lock(connection, agreement_id)
        agreement = known_agreement(connection, context, agreement_id)
        if party_of(context, agreement) is not Party.CONSUMER:
            raise Refusal("a profile is for the recipient of the agreement alone")
        now = moment(connection)
        begins_later = agreement.state is State.FINALIZED and now < agreement.terms.starts_at
        if not (is_in_force(agreement, now) or begins_later):
            raise WrongState(
                "there is a profile while the agreement is finalized and has not ended",
                state=agreement.state.value,
            )
        ended = principals.revoke_share_keys(connection, agreement_id, now)
        key = principals.add_key(connection, context.principal.id, now, agreement=agreement_id)
        facts: dict[str, Fact] = {"key": principals.public_id(key), "ended": ended}
        agreement_log.note(
            connection,
            agreement,
            at=max(now, agreement.changed_at),
            principal=context.principal.id,
            event="profile",
            facts=facts,
        )
        uow.record("agreement.profile", agreement_id, **facts)
    terms = agreement.terms
    return Profile(key, None if terms.renews else terms.ends_at)
