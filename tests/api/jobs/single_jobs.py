"""One job at a time, without workers: claimed and run in the thread of the test."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.service.jobs.execution import run_job
from app.service.jobs.heartbeat import Heartbeat
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import writing


def run_one(resources: Resources, job_id: str) -> None:
    """Claim the job of this id, due or not, and run it."""
    now = datetime.now(UTC) + timedelta(minutes=1)
    until = now + timedelta(seconds=resources.jobs.lease_seconds)
    with writing(resources.engine) as connection:
        job = jobs.claim(connection, job_id, "test", now, until)
    assert job is not None
    run_job(resources, Heartbeat(resources), job)
