"""Executor on a Dask cluster: the interface of `Executor`, its tasks on Dask workers.

A worker has the code and reaches the blob store; it has neither the database nor the master key. What a
task may read and draw, it carries with it. Whoever can talk to the scheduler can have workers run what
it likes: the cluster stands on a network of its own, or speaks TLS (docs/scaling.md).
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from app.errors import ClusterUnavailable
from app.service.executor import Look, go_on

Task = TypeVar("Task")
Made = TypeVar("Made")

CONNECT_SECONDS = 10
AHEAD = 2
"""Tasks under way for each thread of a worker: the next is there when one is done."""

LONGEST_PAUSE = 0.05
"""Seconds between two looks whether a task has ended."""

ATTEMPTS = 5
"""How many workers may be lost under one task; one that ends them all is not tried for ever."""

GONE = "The cluster that does this work cannot be reached, or has no workers."


class ClusterNotInstalled(Exception):
    """The library for it is missing."""


class Cluster:
    """The workers behind a scheduler; it is looked for when there is work."""

    elsewhere = True

    def __init__(self, address: str, prepare: Callable[[Path], object]) -> None:
        """`prepare` is called once in each worker, with a folder of its own."""
        try:
            import distributed
        except ImportError:
            raise ClusterNotInstalled from None
        self._distributed = distributed
        self.address = address
        self._prepare = prepare
        self._lock = threading.Lock()
        self._client: Any = None

    def check(self) -> int:
        """Return how many threads the workers have; ClusterUnavailable when nobody answers, or none has any."""
        threads = int(sum(self._connected().nthreads().values()))
        if not threads:
            raise ClusterUnavailable(GONE, seconds=30)
        return threads

    def map(
        self, work: Callable[[Task], Made], tasks: Iterable[Task], look: Look = go_on
    ) -> Generator[Made, None, None]:
        """As of `Executor`; a task whose worker is lost is done by another.

        A task that has begun is finished, even after its cancellation.
        """
        most = AHEAD * self.check()
        client = self._connected()
        in_flight: deque[Any] = deque()
        left = iter(tasks)
        try:
            while True:
                while len(in_flight) < most and (task := next(left, None)) is not None:
                    # Not pure: the same task may be given again, and must then be done again.
                    in_flight.append(
                        client.submit(_on_worker, self._prepare, work, task, pure=False)
                    )
                if not in_flight:
                    return
                _await(in_flight[0], look)
                yield self._result(in_flight.popleft())
        finally:
            for future in in_flight:
                future.cancel()

    def close(self) -> None:
        """Disconnect from the scheduler."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except (self._distributed.KilledWorker, self._distributed.CancelledError, OSError) as lost:
            if isinstance(lost, OSError) and not isinstance(lost, ConnectionError | TimeoutError):
                raise  # of the task itself: a full disk, say
            raise ClusterUnavailable(GONE, seconds=30) from None

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None or self._client.status not in ("running", "connecting"):
                import dask

                settings = {
                    "distributed.comm.retry.count": 2,
                    "distributed.scheduler.allowed-failures": ATTEMPTS,
                }
                try:
                    with dask.config.set(settings):
                        self._client = self._distributed.Client(
                            self.address,
                            timeout=CONNECT_SECONDS,
                            set_as_default=False,
                            name="cornerwave",
                        )
                except (OSError, TimeoutError):
                    raise ClusterUnavailable(GONE, seconds=30) from None
            return self._client


def _await(future: Any, look: Look) -> None:
    """Wait until the task has ended, however it did, or `look` raises."""
    pause = 0.001
    while not future.done():
        look()
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


_preparing = threading.Lock()


def _on_worker(prepare: Callable[[Path], object], work: Callable[[Task], Made], task: Task) -> Made:
    with _preparing:
        _prepare_once(prepare)
    return work(task)


@cache
def _prepare_once(prepare: Callable[[Path], object]) -> None:
    # Where NUMBA_CACHE_DIR names no folder, what is compiled lasts as long as the worker.
    home = tempfile.mkdtemp(prefix="cornerwave-worker-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    prepare(Path(home))
