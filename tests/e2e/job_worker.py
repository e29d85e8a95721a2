"""What a process does that runs jobs, by two threads, until it is killed."""

from __future__ import annotations

import signal

from app.main import register_job_handlers
from app.service.jobs.runner import Runner
from app.service.resources import Resources
from tests.e2e.victims import UnitOfWork


def run_jobs(resources: Resources) -> UnitOfWork:
    register_job_handlers(resources)

    def work(_number: int) -> None:
        Runner(resources, 2).start()
        while True:
            signal.pause()

    return work
