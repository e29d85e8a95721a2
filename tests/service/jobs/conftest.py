"""Jobs of kinds that tests make up, and real workers to run them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from app.job import Job, JobState
from app.model import Principal, Role
from app.service.jobs.enqueue import enqueue
from app.service.jobs.execution import outcome_of
from app.service.jobs.job_types import Handler, JobType
from app.service.jobs.runner import Runner
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import reading, writing
from app.store.database.sharing import principals
from tests.api.conftest import Service

WAIT_SECONDS = 600.0
"""For what must happen; a test that waits so long has failed."""


class Office:
    """A service's jobs, with workers that tests start and stop."""

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self._runners: list[Runner] = []

    def knows(self, name: str, handler: Handler, **options: Any) -> None:
        self.resources.jobs.job_types[name] = JobType(handler, **options)

    def put(self, kind: str, payload: dict[str, Any] | None = None, **options: Any) -> str:
        principal = options.pop("principal", None)
        with writing(self.resources.engine) as connection:
            job_id = enqueue(
                connection,
                self.resources,
                kind=kind,
                subject="test",
                payload=payload or {},
                principal=principal,
                **options,
            )
        assert job_id is not None
        return job_id

    def open(self, threads: int = 2) -> Runner:
        runner = Runner(self.resources, threads)
        runner.start()
        self._runners.append(runner)
        return runner

    def close(self) -> None:
        for runner in self._runners:
            runner.stop(0.0)
        self._runners.clear()

    def job(self, job_id: str) -> Job:
        with reading(self.resources.engine) as connection:
            job = jobs.one(connection, job_id)
        assert job is not None
        return job

    def until(self, job_id: str, state: JobState | None = None) -> Job:
        """The job once it is in that state, or over."""
        return self.when(job_id, lambda job: job.state is state if state else job.state.ended)

    def when(self, job_id: str, holds: Callable[[Job], bool]) -> Job:
        deadline = time.monotonic() + WAIT_SECONDS
        while not holds(job := self.job(job_id)):
            assert time.monotonic() < deadline, f"the job is {job.state} at {job.step!r}"
            time.sleep(0.02)
        return job

    def outcome(self, job_id: str) -> dict[str, Any]:
        return outcome_of(self.resources, self.job(job_id))

    def principal(self, role: Role, now: datetime, name: str = "somebody") -> Principal:
        principal = Principal(f"rc_{name}", name, role)
        with writing(self.resources.engine) as connection:
            principals.add(connection, principal, now)
        return principal


def _office(service: Service, **jobs: Any) -> Office:
    resources: Resources = service.app.state.resources
    return Office(replace(resources, jobs=replace(resources.jobs, job_types={}, **jobs)))


@pytest.fixture
def office(database_url: str, tmp_path: Path) -> Iterator[Office]:
    """Jobs on SQLite, then on PostgreSQL, with leases of a second."""
    service = Service(database_url, tmp_path / "home")
    office = _office(service, lease_seconds=1.0)
    yield office
    office.close()
    service.close()
