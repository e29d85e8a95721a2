"""Execution of one job: claim by lease, handler, retry or outcome.

It is taken by a lease and ended by the same token (store/database/jobs.py). Whatever happens in
between (a failure, a stop, SIGKILL), the row says what there is to do next.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import orjson
from sqlalchemy.exc import SQLAlchemyError

from app.errors import Busy, DomainError, JobLost, Refusal, Unauthenticated, Unavailable
from app.job import Job, JobState
from app.service.health import outage_of, places_of
from app.service.jobs.enqueue import enqueue
from app.service.jobs.heartbeat import Heartbeat
from app.service.jobs.job_types import Failed, JobType, TryAgain, clean_up
from app.service.progress import Cancelled, Interrupted, Progress
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import after_commit, reading, writing
from app.store.database.sharing import principals

FINISHING_TRIES, FINISHING_PAUSE = 5, 0.5
"""How often, and after which seconds, the end of a job is written when the database fails."""

log = logging.getLogger("cornerwave.jobs")


def claim_next(
    resources: Resources, types: Mapping[str, JobType], full: Collection[str]
) -> Job | None:
    """Take the next job of these types under a lease, none of a concurrency key in `full`."""
    now = datetime.now(UTC)
    until = now + timedelta(seconds=resources.jobs.lease_seconds)
    with writing(resources.engine) as connection:
        while (seen := jobs.next_free(connection, types, full, now)) is not None:
            if seen.attempts < types[seen.kind].attempts:
                return jobs.claim(connection, seen.id, secrets.token_hex(16), now, until)
            lost = JobLost("Every worker that took this job was lost.", attempts=seen.attempts)
            jobs.give_up(connection, seen.id, now, _sealed(resources, seen.id, _told(lost)))
            failed = replace(seen, state=JobState.FAILED)
            after_commit(connection, partial(clean_up, resources, failed))
    return None


def run_job(resources: Resources, heartbeat: Heartbeat, job: Job) -> None:
    """Work on a job that was claimed; nothing is raised."""
    began = time.monotonic()
    resources.jobs.tally.begun()
    end = "lost"
    try:
        with heartbeat.of(job) as progress:
            end = _attempt(resources, job, resources.jobs.job_types[job.kind], progress)
    finally:
        resources.jobs.tally.over(job.kind, end, time.monotonic() - began)
        log.info(
            "job",
            extra={
                "job": job.id,
                "kind": job.kind,
                "end": end,
                "attempt": job.attempts,
                "seconds": round(time.monotonic() - began, 3),
                "request_id": job.request_id,
            },
        )


def _attempt(resources: Resources, job: Job, job_type: JobType, progress: Progress) -> str:
    """Do the work; how it ended, in a word."""
    try:
        if job.cancel_requested:
            raise Cancelled
        _require_right(resources, job)
        outcome = job_type.handler(resources, job, progress)
    except Cancelled:
        return _ended(resources, job, job_type, JobState.CANCELLED, None)
    except Interrupted:
        return _put_back(resources, job, 0.0, counted=False)
    except Exception as error:
        failed, may_pass = _judged(job, error)
        if may_pass and job.attempts <= len(job_type.retry_delays):
            return _put_back(resources, job, job_type.retry_delays[job.attempts - 1], counted=True)
        return _ended(resources, job, job_type, JobState.FAILED, _told(failed))
    kept = {"value": outcome.value, "subject": outcome.subject}
    return _ended(resources, job, job_type, JobState.DONE, kept, max(1, progress.current[2]))


def _judged(job: Job, error: Exception) -> tuple[Failed, bool]:
    """Return the problem of an error, and whether another attempt may succeed."""
    if isinstance(error, Failed):
        return error, error.may_pass
    if isinstance(error, TryAgain):
        return Failed(Unavailable.slug, *GAVE_UP), True
    known = error if isinstance(error, DomainError) else outage_of(error)
    if known is not None:
        return _as_failed(known), isinstance(known, Busy | Unavailable)
    log.error("failed", extra={"job": job.id, "failure": places_of(error)})
    return Failed("internal-error", *OUR_FAILURE), False


GAVE_UP = (
    Unavailable.title,
    "What the work needs did not work, and it was tried as often as it may be.",
)
OUR_FAILURE = (
    "Internal error",
    "Report the request id to whoever runs the service; nothing of the data is in the log.",
)


def _require_right(resources: Resources, job: Job) -> None:
    """Unauthenticated or a Refusal where the principal is not who it was when it asked."""
    if job.principal is None:
        return
    with reading(resources.engine) as connection:
        record = principals.one(connection, job.principal)
    if record is None or record.revoked_at is not None:
        raise Unauthenticated("The principal was revoked before its job was run.")
    if record.principal.role.value != job.role:
        raise Refusal("The principal's role has changed since it asked for this job.")


def _as_failed(error: DomainError) -> Failed:
    return Failed(error.slug, error.title, error.detail, error.fields)


def _put_back(resources: Resources, job: Job, seconds: float, *, counted: bool) -> str:
    run_at = datetime.now(UTC) + timedelta(seconds=seconds)

    def write() -> bool:
        with writing(resources.engine) as connection:
            return jobs.put_back(connection, job.id, job.lease or "", run_at, counted=counted)

    return "put back" if _written(job, write) else "lost"


def _told(failed: Failed | JobLost) -> dict[str, Any]:
    """Return a failure as it is stored."""
    return {
        "slug": failed.slug,
        "title": failed.title,
        "detail": failed.detail,
        "fields": failed.fields,
    }


def _ended(
    resources: Resources,
    job: Job,
    job_type: JobType,
    state: JobState,
    kept: dict[str, Any] | None,
    total: int = 0,
) -> str:
    """End the job, and plan the next of its kind in the same transaction where there is one."""
    sealed = None if kept is None else _sealed(resources, job.id, kept)

    def write() -> bool:
        now = datetime.now(UTC)
        with writing(resources.engine) as connection:
            ours = jobs.finish(connection, job.id, job.lease or "", state, now, sealed, total)
            if ours and job_type.every is not None and job.dedup_key is not None:
                enqueue(
                    connection,
                    resources,
                    kind=job.kind,
                    subject=job.subject,
                    payload={},
                    principal=None,
                    run_at=now + timedelta(seconds=job_type.every),
                    dedup_key=job.dedup_key,
                )
            return ours

    if not _written(job, write):
        return "lost"
    clean_up(resources, replace(job, state=state))
    return state.value


def _written(job: Job, write: Callable[[], bool]) -> bool:
    """Return the result of `write`, retried while the database fails; False when it keeps failing."""
    for left in reversed(range(FINISHING_TRIES)):
        try:
            return write()
        except SQLAlchemyError as error:
            log.warning("not written", extra={"job": job.id, "failure": type(error).__name__})
            if left:
                time.sleep(FINISHING_PAUSE)
    return False


def outcome_of(resources: Resources, job: Job) -> dict[str, Any]:
    """Return the outcome of an ended job: `value` and `subject`, or its failure."""
    if job.outcome is None:
        return {}
    kept: dict[str, Any] = orjson.loads(resources.vault.open(job.outcome, f"outcome:{job.id}"))
    return kept


def _sealed(resources: Resources, job_id: str, kept: dict[str, Any]) -> bytes:
    return resources.vault.seal(orjson.dumps(kept), f"outcome:{job_id}")
