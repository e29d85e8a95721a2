"""The audit log: reading it, checking it, and adding what was refused."""

from __future__ import annotations

from datetime import UTC, datetime

from app.errors import Refusal
from app.model import LogEntry, Role
from app.service.access import require
from app.service.asking import Ask
from app.service.resources import Resources
from app.store import audit_log
from app.store.engine import reading, writing

NOBODY = "-"
"""The caller of a request without a valid key."""


def read_log(resources: Resources, ask: Ask, *, after: int, limit: int) -> list[LogEntry]:
    """Entries in order, for auditors."""
    require(ask, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return audit_log.page(connection, after=after, limit=limit)


def verify_log(resources: Resources) -> list[str]:
    """What is wrong with the chain; an empty list when it is whole."""
    with reading(resources.engine) as connection:
        return list(audit_log.broken_links(connection))


def record_refusal(
    resources: Resources, caller: str, request_id: str, subject: str, refusal: Refusal
) -> None:
    """Keep that something was refused. It has a transaction of its own: the request's is gone."""
    with writing(resources.engine) as connection:
        audit_log.append(
            connection,
            at=datetime.now(UTC),
            caller=caller,
            action="refusal",
            subject=subject,
            outcome="refused",
            request_id=request_id,
            facts={"reason": refusal.slug},
        )
