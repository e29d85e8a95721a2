"""What a start does before the first request: it makes sure that an administrator exists."""

from __future__ import annotations

from datetime import UTC, datetime

from app.model import Caller, Role
from app.service.asking import new_id
from app.service.logs import record_upkeep
from app.service.resources import Resources
from app.store.database import audit_log
from app.store.database.engine import writing
from app.store.database.sharing import callers, sessions


def ensure_administrator(resources: Resources, admin_key: str | None) -> str | None:
    """Make sure that somebody can call the service.

    Returns a new key when one had to be made: it is shown once and kept nowhere.
    """
    with writing(resources.engine) as connection:
        audit_log.queue(connection)  # of two starts at once, one finds what the other made
        now = datetime.now(UTC)
        known = callers.with_role(connection, Role.ADMIN)
        if known and admin_key is None:
            return None
        if known:
            administrator = known[0]
        else:
            administrator = Caller(new_id("rc"), "administrator", Role.ADMIN)
            callers.add(connection, administrator, now)
        if admin_key is not None:
            if callers.caller_of(connection, admin_key) is None:
                callers.set_environment_key(connection, administrator.id, admin_key, now)
                sessions.end_of_key(connection, callers.ENVIRONMENT_KEY)
                record_upkeep(connection, "key.environment", administrator.id)
            return None
        key = callers.add_key(connection, administrator.id, now)
        record_upkeep(connection, "recipient.create", administrator.id)
        return key
