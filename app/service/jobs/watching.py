"""Jobs as their callers see them: shown, listed, waited for, cancelled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.errors import Conflict, Hidden, NotFound
from app.model import Role
from app.service.asking import Ask, is_duplicate, work
from app.service.jobs.job_types import clean_up
from app.service.jobs.running import outcome_of
from app.service.resources import Resources
from app.store.database import jobs, receipts
from app.store.database.engine import reading
from app.store.database.jobs import Job, JobState

TAKEN_BACK = "taken back"
"""The subject of a receipt for a request that is never to be carried out."""

SURE_SHARE, SURE_SECONDS = 0.02, 1.0
"""What must be done, and how long it took, before the rest is estimated."""


@dataclass(frozen=True)
class Watched:
    """A job and, where it ended, what came of it."""

    job: Job
    outcome: dict[str, Any]

    @property
    def remaining_seconds(self) -> float | None:
        """The time that the rest will take if it goes on like this; None where nobody can tell."""
        job = self.job
        if job.state is not JobState.RUNNING or job.started_at is None or job.total <= 0:
            return None
        took = (datetime.now(UTC) - job.started_at).total_seconds()
        share = job.done / job.total
        if share < SURE_SHARE or took < SURE_SECONDS:
            return None
        return round(took * (1 - share) / share, 1)


def show_job(resources: Resources, ask: Ask, job_id: str) -> Watched:
    """A job, for its caller or an administrator."""
    with reading(resources.engine) as connection:
        job = jobs.one(connection, job_id)
    return Watched(seen := _visible(ask, job_id, job), outcome_of(resources, seen))


def list_jobs(
    resources: Resources, ask: Ask, state: JobState | None, *, after: str, limit: int
) -> list[Watched]:
    """A caller's jobs, the newest first; an administrator sees everybody's."""
    caller = None if ask.caller.role is Role.ADMIN else ask.caller.id
    with reading(resources.engine) as connection:
        found = jobs.page(connection, caller, state, after=after, limit=limit)
    return [Watched(job, outcome_of(resources, job)) for job in found]


def cancel_job(resources: Resources, ask: Ask, job_id: str) -> Watched:
    """End a job that waits, have one that runs end; one that ended stays as it is."""
    with work(resources, ask) as under_way:
        before, after = _cancelled(under_way.connection, ask, job_id)
        under_way.record("job.cancel", job_id, kind=before.kind)
    return _left(resources, before, after)


def take_back(resources: Resources, ask: Ask, key: str) -> Watched | None:
    """See to it that nothing comes of the caller's request with this Idempotency-Key.

    The job that it became is cancelled and told. Where nothing was kept of it yet, nothing will be: its
    receipt is there before it, so that it cannot commit. Conflict when it was carried out.
    """
    with work(resources, ask) as under_way:
        connection = under_way.connection
        subject = _subject_or_never(connection, ask, key, under_way.now)
        if subject == TAKEN_BACK:
            under_way.record("request.take_back", ask.caller.id)
            return None
        if jobs.one(connection, subject) is None:
            raise Conflict(f"This request was carried out: look at {subject}.")
        before, after = _cancelled(connection, ask, subject)
        under_way.record("job.cancel", subject, kind=before.kind)
    return _left(resources, before, after)


def _subject_or_never(connection: Connection, ask: Ask, key: str, now: datetime) -> str:
    """What the request made, by its receipt; one that says "never" where there is none."""
    try:
        with connection.begin_nested():
            receipts.add(connection, ask.caller.id, key, "", TAKEN_BACK, now)
    except IntegrityError as error:
        receipt = receipts.find(connection, ask.caller.id, key)
        if receipt is None or not is_duplicate(error):
            raise
        return receipt.subject
    return TAKEN_BACK


def _cancelled(connection: Connection, ask: Ask, job_id: str) -> tuple[Job, Job]:
    """The job before and after it was asked to end."""
    before = _visible(ask, job_id, jobs.one(connection, job_id))
    jobs.ask_to_cancel(connection, job_id, datetime.now(UTC))
    after = jobs.one(connection, job_id)
    assert after is not None
    return before, after


def _left(resources: Resources, before: Job, after: Job) -> Watched:
    """What is left of a job that was asked to end; the files of one that never began go."""
    if before.state is JobState.QUEUED and after.state is JobState.CANCELLED:
        clean_up(resources, after)
    return Watched(after, outcome_of(resources, after))


def _visible(ask: Ask, job_id: str, job: Job | None) -> Job:
    """The job, unless it is another's, the service's own, or not there: these look alike."""
    administrator = ask.caller.role is Role.ADMIN
    owner = None if job is None else job.caller
    if job is None or owner is None or (owner != ask.caller.id and not administrator):
        absent = f"There is no job {job_id[:60]!r} for this caller."
        raise NotFound(absent) if administrator else Hidden(absent)
    return job
