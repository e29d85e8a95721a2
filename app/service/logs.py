"""Audit log: read, verify, record a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.errors import Refusal
from app.model import LogEntry, LogFilter, Role
from app.service.context import RequestContext, auditable_dataset, require
from app.service.resources import Resources
from app.store.database import chained_logs
from app.store.database.chained_logs import Fact
from app.store.database.copies import history
from app.store.database.datasets import datasets
from app.store.database.engine import reading, snapshot, writing
from app.store.database.sharing import agreements, principals

NOBODY = "-"
"""The principal of a request without a valid key."""

NAMED_FACTS = ("dataset", "recipient", "agreement")
"""Facts of an entry that are ids."""

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
    wanted: LogFilter,
    *,
    before: int | None,
    limit: int,
) -> list[LogEntry]:
    """What was done to a data set, its copies and agreements, the newest first, for those who answer for it."""
    with reading(resources.engine) as connection:
        auditable_dataset(connection, context, dataset_id)
        wanted = replace(wanted, subjects=_related(connection, [dataset_id]))
        return chained_logs.search_audit(connection, wanted, before=before, limit=limit)


def principal_called(resources: Resources, context: RequestContext, text: str) -> str:
    """Return the id of the principal of this name; any other text is an id already."""
    require(context, Role.OWNER, Role.AUDITOR)
    with reading(resources.engine) as connection:
        return principals.id_of(connection, text) or text


def subjects_called(resources: Resources, context: RequestContext, text: str) -> tuple[str, ...]:
    """Return what a text may name: an id, a principal, or data sets with their copies and agreements."""
    require(context, Role.AUDITOR)
    with reading(resources.engine) as connection:
        found = datasets.ids_of(connection, text)
        known = principals.id_of(connection, text)
        return (text, *([known] if known else []), *_related(connection, found))


def names_in(
    resources: Resources, context: RequestContext, entries: Sequence[LogEntry]
) -> dict[str, str]:
    """Return names of the principals, data sets and agreements that entries mention, by id."""
    require(context, Role.OWNER, Role.AUDITOR)
    ids = {text for one in entries for text in (one.principal, one.subject)}
    # Not any text: a level may be called as another owner's data set is.
    ids |= {str(one.facts[name]) for one in entries for name in NAMED_FACTS if name in one.facts}
    with reading(resources.engine) as connection:
        return (
            agreements.names(connection, ids)
            | datasets.names(connection, ids)
            | principals.names(connection, ids)
        )


def _related(connection: Connection, dataset_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the data sets, their copies and the agreements about them."""
    drawn = (entry.copy for one in dataset_ids for entry in history.of(connection, one))
    return (*dataset_ids, *drawn, *agreements.ids_about(connection, dataset_ids))


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
