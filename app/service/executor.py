"""Executor: parallel map over tasks, on threads of this process or on a cluster (`dask_executor.py`).

A task is a plain value with everything that its function needs, so the result is the same wherever it runs.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

THREADS = min(4, os.cpu_count() or 1)
LOOK_SECONDS = 0.3
"""How often who waits for a task looks whether it shall go on."""

Task = TypeVar("Task")
Made = TypeVar("Made")
Look = Callable[[], None]


def go_on() -> None:
    """Nobody who could end the work watches it."""


class Executor(Protocol):
    """Runs tasks in parallel."""

    elsewhere: bool
    """Whether that is another process, which this one cannot interrupt."""

    def map(
        self, work: Callable[[Task], Made], tasks: Iterable[Task], look: Look = go_on
    ) -> Generator[Made, None, None]:
        """Yield the result of `work` for each task, in order; several run at the same time.

        Tasks are taken as there is room for them. What fails ends it all, and so do closing the iterator
        and what `look` raises, which is called again and again: what is under way then is given up
        (`require_wanted`) and thrown away.
        """

    def close(self) -> None:
        """Begin nothing any more."""


class Unwanted(Exception):
    """Nobody waits for the outcome of this task any more."""


_here = threading.local()


def require_wanted() -> None:
    """Unwanted, in the middle of a long task, once nobody waits for it; on threads of this process."""
    given_up: threading.Event | None = getattr(_here, "given_up", None)
    if given_up is not None and given_up.is_set():
        raise Unwanted


class Threads:
    """Threads of this process."""

    elsewhere = False

    def __init__(self, threads: int = THREADS) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="executor")

    def map(
        self, work: Callable[[Task], Made], tasks: Iterable[Task], look: Look = go_on
    ) -> Generator[Made, None, None]:
        """As of `Executor`."""
        in_flight: deque[Future[Made]] = deque()
        left = iter(tasks)
        given_up = threading.Event()
        try:
            while True:
                while len(in_flight) < self._threads and (task := next(left, None)) is not None:
                    in_flight.append(self._pool.submit(_while_wanted, given_up, work, task))
                if not in_flight:
                    return
                while not wait([in_flight[0]], LOOK_SECONDS).done:
                    look()
                yield in_flight.popleft().result()
        finally:
            given_up.set()
            for future in in_flight:
                if not future.cancel():
                    future.exception()

    def close(self) -> None:
        """As of `Executor`."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _while_wanted(given_up: threading.Event, work: Callable[[Task], Made], task: Task) -> Made:
    _here.given_up = given_up
    try:
        return work(task)
    finally:
        _here.given_up = None
