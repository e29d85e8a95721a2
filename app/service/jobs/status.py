"""Job status for principals: show, list, cancel, take back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.errors import Conflict, Hidden, NotFound
from app.job import Job, JobState
from app.model import ListQuery, ListResult, Role
from app.service.context import RequestContext
from app.service.jobs.execution import outcome_of
from app.service.jobs.job_types import clean_up
from app.service.resources import Resources
from app.service.unit_of_work import is_duplicate, unit_of_work
from app.store.database import jobs, receipts
from app.store.database.engine import reading

TAKEN_BACK = "taken back"
"""The subject of a receipt for a request that is never to be carried out."""

SURE_SHARE, SURE_SECONDS = 0.02, 1.0
"""What must be done, and how long it took, before the rest is estimated."""


@dataclass(frozen=True)
class JobStatus:
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


def show_job(resources: Resources, context: RequestContext, job_id: str) -> JobStatus:
    """A job, for its principal or an administrator."""
    with reading(resources.engine) as connection:
        job = jobs.one(connection, job_id)
    return JobStatus(seen := _visible(context, job_id, job), outcome_of(resources, seen))


def show_own_job(resources: Resources, context: RequestContext, job_id: str) -> JobStatus:
    """A job of the principal's own: what it answered is nobody else's, administrators included."""
    status = show_job(resources, context, job_id)
    if status.job.principal != context.principal.id:
        raise NotFound(
            f"There is no job {job_id[:60]!r} of yours; only its principal reads its result."
        )
    return status


def list_jobs(
    resources: Resources, context: RequestContext, state: JobState | None, *, after: str, limit: int
) -> list[JobStatus]:
    """A principal's jobs, the newest first; an administrator sees everybody's."""
    principal = None if context.principal.role is Role.ADMIN else context.principal.id
    with reading(resources.engine) as connection:
        found = jobs.page(connection, principal, state, after=after, limit=limit)
    return [JobStatus(job, outcome_of(resources, job)) for job in found]


def search_jobs(
    resources: Resources, context: RequestContext, wanted: ListQuery, state: JobState | None
) -> ListResult[JobStatus]:
    """Search, sort and page the jobs of `list_jobs`."""
    principal = None if context.principal.role is Role.ADMIN else context.principal.id
    with reading(resources.engine) as connection:
        found = jobs.search(connection, wanted, principal, state)
    return ListResult(
        [JobStatus(job, outcome_of(resources, job)) for job in found.items], found.total
    )


def cancel_job(resources: Resources, context: RequestContext, job_id: str) -> JobStatus:
    """End a job that waits, have one that runs end; one that ended stays as it is."""
    with unit_of_work(resources, context) as uow:
        before, after = _cancelled(uow.connection, context, job_id)
        uow.record("job.cancel", job_id, kind=before.kind)
    return _left(resources, before, after)


def take_back(resources: Resources, context: RequestContext, key: str) -> JobStatus | None:
    """See to it that nothing comes of the principal's request with this Idempotency-Key.

    The job that it became is cancelled and told. Where nothing was kept of it yet, nothing will be: its
    receipt is there before it, so that it cannot commit. Conflict when it was carried out.
    """
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        subject = _subject_or_never(connection, context, key, uow.now)
        if subject == TAKEN_BACK:
            uow.record("request.take_back", context.principal.id)
            return None
        if jobs.one(connection, subject) is None:
            raise Conflict(f"This request was carried out: look at {subject}.")
        before, after = _cancelled(connection, context, subject)
        uow.record("job.cancel", subject, kind=before.kind)
    return _left(resources, before, after)


def _subject_or_never(
    connection: Connection, context: RequestContext, key: str, now: datetime
) -> str:
    """Return the subject of a receipt; without one, store a receipt that bars the request."""
    try:
        with connection.begin_nested():
            receipts.add(connection, context.principal.id, key, "", TAKEN_BACK, now)
    except IntegrityError as error:
        receipt = receipts.find(connection, context.principal.id, key)
        if receipt is None or not is_duplicate(error):
            raise
        return receipt.subject
    return TAKEN_BACK


def _cancelled(connection: Connection, context: RequestContext, job_id: str) -> tuple[Job, Job]:
    """The job before and after it was asked to end."""
    before = _visible(context, job_id, jobs.one(connection, job_id))
    jobs.ask_to_cancel(connection, job_id, datetime.now(UTC))
    after = jobs.one(connection, job_id)
    assert after is not None
    return before, after


def _left(resources: Resources, before: Job, after: Job) -> JobStatus:
    """Return a cancelled job; files of one that never began are removed."""
    if before.state is JobState.QUEUED and after.state is JobState.CANCELLED:
        clean_up(resources, after)
    return JobStatus(after, outcome_of(resources, after))


def _visible(context: RequestContext, job_id: str, job: Job | None) -> Job:
    """The job, unless it is another's, the service's own, or not there: these look alike."""
    administrator = context.principal.role is Role.ADMIN
    owner = None if job is None else job.principal
    if job is None or owner is None or (owner != context.principal.id and not administrator):
        absent = f"There is no job {job_id[:60]!r} for this principal."
        raise NotFound(absent) if administrator else Hidden(absent)
    return job
