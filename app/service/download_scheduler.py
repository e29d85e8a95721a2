"""Download scheduler: one byte budget and one thread pool, shared in turns.

What a download has made and its reader has not taken lies in memory. So a block is made when there is
room for it: what its reader waits for now waits in line, first come first served; what would be made
ahead is made only while nobody waits. A download in line holds nothing, so the line always moves.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import pyarrow as pa

from app.errors import Busy

THREADS = min(4, os.cpu_count() or 1)
AHEAD = THREADS + 1
"""Blocks of one download that are being made or wait for its reader."""

FIRST_SECONDS = 5.0
"""How long a download waits for its first block; then it is better told to come again."""

TRIM_SECONDS = 1.0
"""From the end of a download to the moment when its memory is given back, with that of others."""

Task = TypeVar("Task")
Made = TypeVar("Made")


class Budget:
    """Byte budget shared by all downloads, granted in order of request."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._line: deque[object] = deque()
        self._changed = threading.Condition()

    @property
    def taken(self) -> int:
        """Bytes that are in use."""
        return self._taken

    def take_now(self, count: int) -> bool:
        """Take bytes if they are free and no other download is waiting."""
        with self._changed:
            if self._line or not self._fits(count):
                return False
            self._taken += count
            return True

    def wait(self, count: int, seconds: float | None = None) -> bool:
        """Wait in line for bytes; False when that takes longer than `seconds`."""
        ours = object()
        with self._changed:
            self._line.append(ours)
            try:
                called = self._changed.wait_for(
                    lambda: self._line[0] is ours and self._fits(count), seconds
                )
                if called:
                    self._taken += count
                return called
            finally:
                self._line.remove(ours)
                self._changed.notify_all()

    def give_back(self, count: int) -> None:
        """Return bytes to the budget."""
        with self._changed:
            self._taken -= count
            self._changed.notify_all()

    def _fits(self, count: int) -> bool:
        # What is larger than all there is goes alone.
        return self._taken == 0 or self._taken + count <= self._most


class Downloads:
    """The downloads of a process."""

    def __init__(self, most_bytes: int) -> None:
        self.budget = Budget(most_bytes)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="release")
        self._lock = threading.Lock()
        self._trimming: threading.Timer | None = None

    def in_turn(
        self,
        tasks: Iterable[Task],
        make: Callable[[Task], Made],
        cost: Callable[[Task], int],
    ) -> Iterator[Made]:
        """Yield the result of `make` for each task, in order; `cost` is an upper bound of its bytes.

        Busy when there is no room for the first.
        """
        left = deque(tasks)
        uow: deque[tuple[Future[Made], int]] = deque()

        def begin() -> None:
            task = left.popleft()
            uow.append((self._pool.submit(make, task), cost(task)))

        first = True
        try:
            while left or uow:
                if not uow:
                    if not self.budget.wait(cost(left[0]), FIRST_SECONDS if first else None):
                        raise Busy("All memory for downloads is in use.", seconds=5)
                    begin()
                    first = False
                while left and len(uow) < AHEAD and self.budget.take_now(cost(left[0])):
                    begin()
                future, taken = uow.popleft()
                try:
                    yield future.result()
                finally:
                    self.budget.give_back(taken)
        finally:
            for future, taken in uow:
                future.cancel()
                future.add_done_callback(partial(self._given_up, taken))
            self._trim_soon()

    def _given_up(self, taken: int, _: Future[Made]) -> None:
        self.budget.give_back(taken)

    def _trim_soon(self) -> None:
        """Give memory back to the system that allocators keep for themselves, once for many."""
        with self._lock:
            if self._trimming is None:
                self._trimming = threading.Timer(TRIM_SECONDS, self._trim)
                self._trimming.daemon = True
                self._trimming.start()

    def _trim(self) -> None:
        with self._lock:
            self._trimming = None
        pa.default_memory_pool().release_unused()
        if _malloc_trim is not None:
            _malloc_trim(0)


def _trimmer() -> Callable[[int], int] | None:
    """glibc's malloc_trim, where this is glibc."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    return trim


_malloc_trim = _trimmer()
