"""Whether an answer given before may be given again: only while the right behind it is the same."""

from __future__ import annotations

import hashlib

from app.errors import NotFound
from app.model import Role
from app.service.access import live_grants, visible
from app.service.asking import Ask
from app.service.resources import Resources
from app.service.sharing.agreements.parties import known_agreement, party_of
from app.store.database.engine import reading
from app.store.database.registered import levels
from app.store.database.sharing import callers


def right_to(resources: Resources, ask: Ask, subject: str) -> str:
    """A hash of why this caller may know of the subject; another when anything of it changed.

    For a data set that is the role, and for a recipient its grants and the granted levels'
    variances. NotFound, as ever, when the caller may not know of the data set any more.
    """
    role = ask.caller.role
    with reading(resources.engine) as connection:
        if subject.startswith("ds_"):
            _, grant = visible(connection, ask, subject)
            granted = [] if grant is None else live_grants(connection, ask, subject)
            known = [levels.one(connection, subject, one.level) for one in granted]
            variances = [level and level.noise_variance for level in known]
            reason = f"{role} {granted} {variances}"
        elif subject.startswith("rc_"):
            record = callers.one(connection, subject)
            if record is None or record.revoked_at is not None:
                raise NotFound(f"there is no caller {subject!r}, or it was revoked")
            own = subject == ask.caller.id
            reason = f"{role} {own if role is Role.RECIPIENT else ''}"
        elif subject.startswith("ag_"):
            agreement = known_agreement(connection, ask, subject)
            reason = f"{role} {party_of(ask, agreement)}"
        else:
            reason = str(role)
    return hashlib.sha256(reason.encode()).hexdigest()
