"""A job done at once, in the thread of the test."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.service.jobs.pulse import Pulse
from app.service.jobs.running import run_job
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import writing


def run_now(resources: Resources, job_id: str) -> None:
    """Claim a job, due or not, and work on it."""
    now = datetime.now(UTC) + timedelta(minutes=1)
    with writing(resources.engine) as connection:
        job = jobs.claim(connection, job_id, "test", now, now + timedelta(hours=1))
    assert job is not None
    run_job(resources, Pulse(resources), job)
