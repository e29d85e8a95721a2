"""Retention of jobs: removes ended jobs after a period, their files, and files without a job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.job import Job
from app.service.jobs.job_types import Outcome
from app.service.progress import Progress
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import reading, writing

REQUEST = "request"
"""The kind of jobs that have files: they answer a request."""

AT_ONCE = 100
BEGINNING = timedelta(days=1)
"""A file without a row may be of a request that is being taken: not before this is it left over."""


def request_file(job_id: str) -> str:
    """Return the file of a request's body."""
    return f"{job_id}-request"


def answer_file(job_id: str, attempt: int) -> str:
    """Return the file of an attempt's answer."""
    return f"{job_id}-answer-{attempt}"


def files_of(job: Job) -> Iterator[str]:
    """Return all files that a job may have."""
    yield request_file(job.id)
    for attempt in range(1, job.attempts + 1):
        yield answer_file(job.id, attempt)


def jobs_with_files(connection: Connection) -> Iterator[Job]:
    """Return the jobs that may have files."""
    after = ""
    while found := jobs.of_kinds(connection, (REQUEST,), after=after, limit=AT_ONCE):
        after = found[-1].id
        yield from found


def tidy(resources: Resources, _job: Job, progress: Progress) -> Outcome:
    """Delete jobs past their retention, and files without a job."""
    now = datetime.now(UTC)
    before = now - timedelta(days=resources.jobs.keep_days)
    removed = 0
    while True:
        with reading(resources.engine) as connection:
            old = jobs.ended_before(connection, before, AT_ONCE)
        for job in old:
            progress.raise_if_cancelled()
            for name in files_of(job):
                resources.jobs.files.remove(name)
            with writing(resources.engine) as connection:
                jobs.forget(connection, job.id)
        removed += len(old)
        if len(old) < AT_ONCE:
            break
    for name in resources.jobs.files.left_before(now - BEGINNING):
        with reading(resources.engine) as connection:
            known = jobs.one(connection, name.partition("-")[0]) is not None
        if not known:
            resources.jobs.files.remove(name)
    return Outcome({"removed": removed})
