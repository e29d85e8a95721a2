"""Heartbeat of a worker process: a thread that renews the leases of its running jobs.

With each beat it also writes how far the job is, and learns whether it was cancelled or lost.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy.exc import SQLAlchemyError

from app.job import Job
from app.service.progress import Cancelled, Interrupted, Progress
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import writing

BEAT_SECONDS = 0.5

log = logging.getLogger("cornerwave.jobs")


class Heartbeat:
    """The jobs that this process works on."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._lock = threading.Lock()
        self._under_way: dict[str, tuple[Job, Progress]] = {}
        self._written: dict[str, tuple[str, int, int]] = {}
        self._stopped = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._beat_on, name="jobs-heartbeat", daemon=True)

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()

    def stop(self) -> None:
        """Stop; running jobs soon lose their leases."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def interrupt(self) -> None:
        """Interrupt all running jobs, and those begun from now on; they are put back."""
        with self._lock:
            self._stopping = True
            for _, progress in self._under_way.values():
                progress.stop(Interrupted)

    @contextmanager
    def of(self, job: Job) -> Iterator[Progress]:
        """The progress of a job that this process has a lease on."""
        progress = Progress(job.step, job.done, job.total)
        # By lease: on a machine that stalls, a thread of this process may take up what another of it lost.
        lease = job.lease or ""
        with self._lock:
            self._under_way[lease] = (job, progress)
            if self._stopping:
                progress.stop(Interrupted)
        try:
            yield progress
        finally:
            with self._lock:
                del self._under_way[lease]
                self._written.pop(lease, None)

    def _beat_on(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            with self._lock:
                uow = list(self._under_way.values())
            for job, progress in uow:
                try:
                    self._beat(job, progress)
                except SQLAlchemyError as error:
                    # The lease outlasts a few beats; if it does not, another takes the job.
                    said = {"job": job.id, "failure": type(error).__name__}
                    log.warning("no beat", extra=said)

    def _forward(self, job: Job, told: tuple[str, int, int]) -> tuple[str, int, int]:
        """Keep reported progress from going back when threads of one job report at once."""
        lease = job.lease or ""
        _, before, of = self._written.get(lease, ("", 0, 0))
        step, done, total = told
        if done * max(of, 1) < before * max(total, 1):
            done, total = before, of
        self._written[lease] = (step, done, total)
        return self._written[lease]

    def _beat(self, job: Job, progress: Progress) -> None:
        until = datetime.now(UTC) + timedelta(seconds=self._resources.jobs.lease_seconds)
        step, done, total = self._forward(job, progress.current)
        with writing(self._resources.engine) as connection:
            cancelled = jobs.beat(
                connection, job.id, job.lease or "", until, step=step[:200], done=done, total=total
            )
        if cancelled is None:
            progress.stop(Interrupted)
        elif cancelled:
            progress.stop(Cancelled)
