"""The workers of one process: threads that huey wakes, a pulse, and a look at what it missed."""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, datetime, timedelta

from huey.consumer import Consumer
from sqlalchemy.exc import SQLAlchemyError

from app.service.jobs.enqueue import enqueue, wake
from app.service.jobs.pulse import Pulse
from app.service.jobs.running import run_job
from app.service.resources import Resources
from app.store.database import jobs
from app.store.database.engine import reading, writing

LOOK_SECONDS = 1.0
WOKEN_SECONDS = 20.0
"""A job that the queue was told of so long ago, and that nobody began, is told of again."""

WOKEN_AT_ONCE = 100
INTERRUPT_SECONDS = 5.0
"""How long work that was interrupted gets to notice."""

log = logging.getLogger("cornerwave.jobs")


class Runner:
    """Runs jobs in `threads` threads, from `start` to `stop`."""

    def __init__(self, resources: Resources, threads: int) -> None:
        self._resources = resources
        self._threads = threads
        self._pulse = Pulse(resources)
        self._stopped = threading.Event()
        self._looking = threading.Thread(target=self._look_on, name="jobs-look", daemon=True)
        self._consumer: Consumer | None = None

    def start(self) -> None:
        """Begin to take jobs."""
        self._pulse.start()
        self._looking.start()

    def stop(self, seconds: float) -> None:
        """Take no more; what is not done in time is put back for others, or for the next start."""
        self._stopped.set()
        self._looking.join()
        if self._consumer is not None:
            self._consumer.stop_flag.set()
            if not self._joined(time.monotonic() + seconds):
                self._pulse.interrupt()
                self._joined(time.monotonic() + INTERRUPT_SECONDS)
        self._pulse.stop()
        self._resources.jobs.queue.close()

    def _joined(self, until: float) -> bool:
        assert self._consumer is not None
        threads = [thread for _, thread in self._consumer.worker_threads]
        threads.append(self._consumer.scheduler)
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def _look_on(self) -> None:
        """Start the consumer as soon as the queue can be had, then look for what it missed."""
        while not self._stopped.is_set():
            try:
                if self._consumer is None:
                    self._start_consumer()
                self._look()
            except Exception as error:  # the queue's own failures, the database's: try again
                log.warning("no look", extra={"failure": type(error).__name__})
            self._stopped.wait(LOOK_SECONDS)

    def _start_consumer(self) -> None:
        consumer = self._resources.jobs.queue.consumer(self._threads, self._run)
        self._plan()
        consumer.start()
        self._consumer = consumer

    def _run(self, job_id: str) -> None:
        # One that comes while this process stops is left to the next who looks.
        if not self._stopped.is_set():
            run_job(self._resources, self._pulse, job_id)

    def _plan(self) -> None:
        """See to it that what is done again and again has its next job."""
        repeated = {n: k for n, k in self._resources.jobs.kinds.items() if k.every is not None}
        for name in repeated:
            with writing(self._resources.engine) as connection:
                enqueue(
                    connection,
                    self._resources,
                    kind=name,
                    subject=name,
                    payload={},
                    caller=None,
                    only_one=f"every:{name}",
                )

    def _look(self) -> None:
        now = datetime.now(UTC)
        try:
            with reading(self._resources.engine) as connection:
                self._resources.jobs.tally.seen = jobs.unfinished(connection)
            if not self._resources.jobs.tally.seen:
                return
            patience = min(WOKEN_SECONDS, self._resources.jobs.lease_seconds)
            before = now - timedelta(seconds=patience)
            with writing(self._resources.engine) as connection:
                missed = jobs.take_to_wake(connection, now, before, WOKEN_AT_ONCE)
        except SQLAlchemyError as error:
            log.warning("no look", extra={"failure": type(error).__name__})
            return
        for job_id in missed:
            wake(self._resources, job_id)
