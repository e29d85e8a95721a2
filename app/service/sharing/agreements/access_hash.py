"""Hash of a principal's right to a subject: it changes whenever the right does."""

from __future__ import annotations

import hashlib

from app.errors import NotFound
from app.model import Role
from app.service.context import RequestContext, live_grants, visible
from app.service.resources import Resources
from app.service.sharing.agreements.lookup import known_agreement, party_of
from app.store.database.datasets import levels
from app.store.database.engine import reading
from app.store.database.sharing import principals


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
