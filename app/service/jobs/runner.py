"""Job runner of a worker process: claims jobs fairly and runs each in a thread of its pool.

It looks at the database whenever this process has committed or ended a job, and a few times a second for
what others have. The row is the truth, so nothing is lost where a look fails.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.job import Job
from app.service.jobs.enqueue import enqueue
from app.service.jobs.execution import claim_next, run_job
from app.service.jobs.heartbeat import Heartbeat
from app.service.jobs.job_types import JobType, Pool
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import reading, writing

POLL_SECONDS = 0.25
INTERRUPT_SECONDS = 5.0
"""How long work that was interrupted gets to notice."""

SERVICE_THREADS, SERVICE_PER_KEY = 2, 1
"""A key is a type of jobs here: a long delivery leaves a thread for planning and tidying."""

MESSAGE_THREADS, MESSAGES_PER_RECEIVER = 8, 2
"""A receiver that keeps every sender waiting has a quarter of them; four such are needed to delay others."""

log = logging.getLogger("cornerwave.jobs")


@dataclass
class Slots:
    """The threads of one pool, of which no concurrency key has more than its share."""

    threads: int
    per_key: int
    taken: Counter[str] = field(default_factory=Counter)

    @property
    def are_free(self) -> bool:
        """Whether a thread is free."""
        return self.taken.total() < self.threads

    @property
    def full_keys(self) -> list[str]:
        """The keys that may have no further thread."""
        return [key for key, count in self.taken.items() if count >= self.per_key]


class Runner:
    """Runs jobs, those of principals in `threads` threads, from `start` to `stop`."""

    def __init__(self, resources: Resources, threads: int) -> None:
        self._resources = resources
        self._heartbeat = Heartbeat(resources)
        self._stopped = threading.Event()
        self._dispatcher = threading.Thread(target=self._dispatch, name="jobs", daemon=True)
        self._lock = threading.Lock()
        self._working: set[threading.Thread] = set()
        self._slots = {
            Pool.WORK: Slots(threads, threads),
            Pool.SERVICE: Slots(SERVICE_THREADS, SERVICE_PER_KEY),
            Pool.MESSAGES: Slots(MESSAGE_THREADS, MESSAGES_PER_RECEIVER),
        }

    def start(self) -> None:
        """Begin to take jobs."""
        self._heartbeat.start()
        self._dispatcher.start()

    def stop(self, seconds: float) -> None:
        """Take no more; what is not done in time is put back for others, or for the next start."""
        self._stopped.set()
        self._resources.jobs.committed.set()
        self._dispatcher.join()
        if not self._joined(time.monotonic() + seconds):
            self._heartbeat.interrupt()
            self._joined(time.monotonic() + INTERRUPT_SECONDS)
        self._heartbeat.stop()

    def _joined(self, until: float) -> bool:
        with self._lock:
            working = list(self._working)
        for thread in working:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in working)

    def _dispatch(self) -> None:
        planned = False
        committed = self._resources.jobs.committed
        while not self._stopped.is_set():
            committed.clear()
            try:
                if not planned:
                    self._plan()
                    planned = True
                self._start_due()
            except Exception as error:  # the database fails in many ways: look again
                log.warning("no look", extra={"failure": type(error).__name__})
            committed.wait(POLL_SECONDS)

    def _plan(self) -> None:
        """See to it that what is done again and again has its next job."""
        for name, job_type in self._resources.jobs.job_types.items():
            if job_type.every is None:
                continue
            with writing(self._resources.engine) as connection:
                enqueue(
                    connection,
                    self._resources,
                    kind=name,
                    subject=name,
                    payload={},
                    principal=None,
                    dedup_key=f"every:{name}",
                )

    def _start_due(self) -> None:
        """Start what is due, as far as there are threads for it."""
        with reading(self._resources.engine) as connection:
            self._resources.jobs.tally.seen = jobs.unfinished(connection)
            due = jobs.due_types(connection, datetime.now(UTC))
        for pool, slots in self._slots.items():
            types = self._types_of(pool)
            while not due.isdisjoint(types) and not self._stopped.is_set():
                job = self._claimed(types, slots)
                if job is None:
                    break
                self._start(job, slots)

    def _types_of(self, pool: Pool) -> dict[str, JobType]:
        return {n: t for n, t in self._resources.jobs.job_types.items() if t.pool is pool}

    def _claimed(self, types: dict[str, JobType], slots: Slots) -> Job | None:
        with self._lock:
            if not slots.are_free:
                return None
            full = slots.full_keys
        return claim_next(self._resources, types, full)

    def _start(self, job: Job, slots: Slots) -> None:
        thread = threading.Thread(target=self._run, args=(job, slots), name="job", daemon=True)
        with self._lock:
            slots.taken[job.concurrency_key] += 1
            self._working.add(thread)
        thread.start()

    def _run(self, job: Job, slots: Slots) -> None:
        try:
            run_job(self._resources, self._heartbeat, job)
        finally:
            with self._lock:
                slots.taken[job.concurrency_key] -= 1
                self._working.discard(threading.current_thread())
            self._resources.jobs.committed.set()
