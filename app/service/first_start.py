"""What a start does before the first request: an administrator exists, the master key fits, and
nothing is left of registrations that were cut off."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, select

from app.model import Caller, Role
from app.service.asking import new_id
from app.service.resources import Resources
from app.service.secrets import secret_context
from app.store import audit_log, callers, datasets, tables
from app.store.engine import reading, writing
from app.store.vault import SealBroken

STARTUP = "startup"


def ensure_administrator(resources: Resources, admin_key: str | None) -> str | None:
    """Make sure that somebody can call the service.

    Returns a new key when one had to be made: it is shown once and kept nowhere.
    """
    with writing(resources.engine) as connection:
        audit_log.queue(
            connection
        )  # two processes may start at once: one finds what the other made
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
                _log(connection, "key.environment", administrator.id, now)
            return None
        key = callers.add_key(connection, administrator.id, now)
        _log(connection, "recipient.create", administrator.id, now)
        return key


def master_key_fits(resources: Resources) -> bool:
    """Whether the master key opens what this database keeps (True when it keeps nothing)."""
    with reading(resources.engine) as connection:
        row = connection.execute(
            select(tables.datasets.c.id, tables.datasets.c.secret).limit(1)
        ).one_or_none()
    if row is None:
        return True
    try:
        resources.vault.open(row.secret, secret_context(row.id))
    except SealBroken:
        return False
    return True


def sweep_orphans(resources: Resources) -> int:
    """Delete blobs that no data set refers to and nobody is writing; how many that were."""

    def referenced() -> set[str]:
        with reading(resources.engine) as connection:
            return datasets.all_blobs(connection)

    return len(resources.blobs.sweep(referenced))


def _log(connection: Connection, action: str, subject: str, now: datetime) -> None:
    audit_log.append(
        connection,
        at=now,
        caller=STARTUP,
        action=action,
        subject=subject,
        outcome="done",
        request_id=STARTUP,
        facts={},
    )
