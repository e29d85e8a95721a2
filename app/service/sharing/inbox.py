"""Inbox of a principal: open tasks, recent changes, running jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.agreement import Agreement
from app.service.context import RequestContext
from app.service.jobs.status import JobStatus, list_jobs
from app.service.resources import Resources
from app.store.database import jobs as jobs_store
from app.store.database.engine import reading
from app.store.database.sharing import agreements

MOST = 10
"""Entries of each kind; the lists behind them have the rest."""

FIRST_VISIT_DAYS = 7
"""How far back changes are shown to who was never here."""


@dataclass(frozen=True)
class Inbox:
    """Tasks, changes and running jobs of a principal.

    where:
        waiting  agreements whose next message is the principal's
        changed  other agreements that changed since the last visit
        running  jobs that did not end
        ended    jobs that ended since the last visit
    """

    waiting: list[Agreement]
    changed: list[Agreement]
    running: list[JobStatus]
    ended: list[JobStatus]


def show_inbox(resources: Resources, context: RequestContext, since: datetime | None) -> Inbox:
    """Return what waits, what changed since a moment, and what runs."""
    since = since or datetime.now(UTC) - timedelta(days=FIRST_VISIT_DAYS)
    principal = context.principal.id
    with reading(resources.engine) as connection:
        waiting = agreements.waiting_for(connection, principal, limit=MOST)
        changed = agreements.changed_since(connection, principal, since, limit=2 * MOST)
    known = {one.id for one in waiting}
    jobs = [
        one
        for one in list_jobs(resources, context, None, after="", limit=5 * MOST)
        if one.job.principal == principal
    ]
    return Inbox(
        waiting,
        [one for one in changed if one.id not in known][:MOST],
        [one for one in jobs if not one.job.state.ended][:MOST],
        [one for one in jobs if one.job.finished_at and one.job.finished_at > since][:MOST],
    )


def count_waiting(resources: Resources, context: RequestContext) -> dict[str, int]:
    """Count what waits for a principal: its turns in agreements, and its unfinished jobs."""
    with reading(resources.engine) as connection:
        return {
            "agreements": agreements.count_waiting(connection, context.principal.id),
            "jobs": jobs_store.unfinished_of(connection, context.principal.id).count,
        }


def requests_for(
    resources: Resources, context: RequestContext, dataset_ids: Iterable[str]
) -> dict[str, Agreement]:
    """Return the principal's newest request or agreement about each of these data sets."""
    with reading(resources.engine) as connection:
        return agreements.requests_by(connection, context.principal.id, dataset_ids)
