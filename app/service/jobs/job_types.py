"""Job types: handler, retry delays, thread pool; and a process's job counters."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from app.job import Job, JobState
from app.service.progress import Progress
from app.store.blobs.job_files import JobFiles


class Tally:
    """Jobs that ended here, and what was last seen of those that have not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended: Counter[tuple[str, str]] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.running = 0
        self.seen: dict[JobState, int] = {}

    def begun(self) -> None:
        """A job is being worked on."""
        with self._lock:
            self.running += 1

    def over(self, kind: str, end: str, seconds: float) -> None:
        """The work on it is over, this way."""
        with self._lock:
            self.running -= 1
            self._ended[kind, end] += 1
            self.seconds[kind] += seconds

    @property
    def ended(self) -> dict[tuple[str, str], int]:
        """Attempts by kind and end."""
        with self._lock:
            return dict(self._ended)


if TYPE_CHECKING:
    from app.service.resources import Resources


@dataclass(frozen=True)
class Outcome:
    """Outcome of a job: plain values, stored sealed, and the id of what it made."""

    value: dict[str, Any] = field(default_factory=dict)
    subject: str | None = None


class TryAgain(Exception):
    """The work failed by something that may pass: it is done again after a pause."""


class Failed(Exception):
    """The work came to its end with a problem, as the principal would have been told it."""

    def __init__(
        self,
        slug: str,
        title: str,
        detail: str,
        fields: Mapping[str, Any] = MappingProxyType({}),
        *,
        may_pass: bool = False,
    ) -> None:
        super().__init__(slug)
        self.slug, self.title, self.detail, self.fields = slug, title, detail, dict(fields)
        self.may_pass = may_pass


Handler = Callable[["Resources", Job, Progress], Outcome]

RETRY_DELAYS = (5.0, 30.0, 120.0, 600.0)


class Pool(Enum):
    """Threads that jobs of one sort share, so that they never wait for those of another.

    where:
        WORK      what principals asked for; CORNERWAVE_JOB_THREADS threads
        SERVICE   the service's own work, never behind that of principals
        MESSAGES  requests to receivers outside, who may be slow
    """

    WORK = "work"
    SERVICE = "service"
    MESSAGES = "messages"


@dataclass(frozen=True)
class JobType:
    """Type of jobs: handler, retries, thread pool.

    where:
        retry_delays  seconds before the second, third … attempt; after the last of them there is none
        every         seconds until the next one, for what is done again and again
        cleanup       called when a job of this type is over, however it ended
    """

    handler: Handler
    retry_delays: tuple[float, ...] = RETRY_DELAYS
    every: float | None = None
    cleanup: Callable[[Resources, Job], None] | None = None
    pool: Pool = Pool.WORK

    @property
    def attempts(self) -> int:
        """Maximum number of attempts."""
        return len(self.retry_delays) + 1


@dataclass(frozen=True)
class Jobs:
    """Job configuration and counters of a process.

    where:
        files          bodies that wait for a job, and answers that came of one
        lease_seconds  how long a worker may be silent until its job is given to another
        max_wait_seconds       seconds that a principal who allows it waits before it gets a job in place of an answer
        keep_days      how long a job that ended can be asked for
        job_types      what can be done; `app.main` names them
        committed      set when this process has committed a job, so that its runner looks at once
    """

    files: JobFiles
    lease_seconds: float = 30.0
    max_wait_seconds: float = 30.0
    keep_days: int = 7
    job_types: dict[str, JobType] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    committed: threading.Event = field(default_factory=threading.Event)


def clean_up(resources: Resources, job: Job) -> None:
    """Remove what a job needs no more, now that it is over: its state says how it ended."""
    job_type = resources.jobs.job_types.get(job.kind)
    if job_type is not None and job_type.cleanup is not None:
        job_type.cleanup(resources, job)
