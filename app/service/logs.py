"""Audit log: read, verify, record a refusal."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from app.errors import Refusal
from app.model import LogEntry, LogFilter, Role
from app.service.context import RequestContext, auditable_dataset, require
from app.service.resources import Resources
from app.store.database import chained_logs
from app.store.database.chained_logs import Fact
from app.store.database.copies import history
from app.store.database.engine import reading, snapshot, writing

NOBODY = "-"
"""The principal of a request without a valid key."""

UPKEEP = "startup"
"""The principal of what no request asked for."""


def read_log(
    resources: Resources, context: RequestContext, *, after: int, limit: int
) -> list[LogEntry]:
    """Entries in order, for auditors."""
    require(context, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return chained_logs.audit_page(connection, after=after, limit=limit)


def search_log(
    resources: Resources,
    context: RequestContext,
    wanted: LogFilter,
    *,
    before: int | None,
    limit: int,
) -> list[LogEntry]:
    """Entries that fit, the newest first, for auditors."""
    require(context, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return chained_logs.search_audit(connection, wanted, before=before, limit=limit)


def dataset_log(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    *,
    before: int | None,
    limit: int,
) -> list[LogEntry]:
    """List log entries of a data set and its copies, newest first, for its owner and auditors."""
    with reading(resources.engine) as connection:
        auditable_dataset(connection, context, dataset_id)
        drawn = (entry.copy for entry in history.of(connection, dataset_id))
        wanted = LogFilter(subjects=(dataset_id, *drawn))
        return chained_logs.search_audit(connection, wanted, before=before, limit=limit)


def logged_actions(resources: Resources, context: RequestContext) -> list[str]:
    """Every action that the log tells of, for auditors."""
    require(context, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return chained_logs.audit_actions(connection)


@dataclass(frozen=True)
class LogCheck:
    """Result of checking the chain; `broken` is empty when it is whole."""

    entries: int
    last_hash: str
    broken: tuple[str, ...]


def check_log(resources: Resources, context: RequestContext) -> LogCheck:
    """Follow the chain of the log from its first entry to its last, for auditors."""
    require(context, Role.AUDITOR)
    with snapshot(resources.engine) as connection:
        broken = tuple(chained_logs.audit_faults(connection))
        return LogCheck(*chained_logs.audit_head(connection), broken)


def record_refusal(
    resources: Resources, principal: str, request_id: str, subject: str, refusal: Refusal
) -> None:
    """Keep that something was refused. It has a transaction of its own: the request's is gone."""
    with writing(resources.engine) as connection:
        chained_logs.append_audit(
            connection,
            principal=principal,
            action="refusal",
            subject=subject,
            outcome="refused",
            request_id=request_id,
            facts={"reason": refusal.slug},
        )


def record_upkeep(connection: Connection, action: str, subject: str, **facts: Fact) -> None:
    """Keep what the service, or an operator's command, did of its own accord."""
    chained_logs.append_audit(
        connection,
        principal=UPKEEP,
        action=action,
        subject=subject,
        outcome="done",
        request_id=UPKEEP,
        facts=facts,
    )
