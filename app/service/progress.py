"""Progress of long work, and its cancellation.

Functions that can last take a `progress` and report every step to it; NO_PROGRESS ignores reports. `report`
also raises Cancelled or Interrupted once the work is to stop.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from app.numerics.threads import starting

SCALE = 1_000
"""Units of work whose parts count in units of their own."""

RAISE_AGAIN_SECONDS = 2.0
"""Long enough for the work to leave by the first exception, with all its `finally`."""


class Cancelled(BaseException):
    """The job was cancelled. No `except Exception` on the way may keep it from ending."""


class Interrupted(BaseException):
    """The process stops, or lost the job to another: this attempt ends, the job does not."""


End = type[Cancelled] | type[Interrupted]


class Progress:
    """Step and units done of a job; the fraction never decreases, not even in a second attempt."""

    def __init__(self, step: str = "", done: int = 0, total: int = 0) -> None:
        # No lock: the one who works may be interrupted anywhere, also with a lock in its hands.
        self._current = (step, done, total)
        self._end: End | None = None
        self._gate = threading.Lock()
        self._within: int | None = None
        self._raised = -math.inf

    def report(self, step: str, done: int, total: int) -> None:
        """Set the current step and the units done; raise as `raise_if_cancelled` does.

        `step` is a constant text without data values.
        """
        self.raise_if_cancelled()
        _, before, of = self._current
        # A step that counts anew, or in other units, must not look like a step back.
        forward = total > 0 and done * max(of, 1) >= before * total
        self._current = (step, min(done, total), total) if forward else (step, before, of)

    def raise_if_cancelled(self) -> None:
        """Raise Cancelled or Interrupted if the work is to stop."""
        if self._end is not None:
            raise self._end

    def subrange(self, first: int, last: int) -> Progress:
        """Return the progress of a part of the work: the units `first` to `last` of SCALE."""
        return ProgressRange(self, first, last)

    def stop(self, why: End) -> None:
        """Have the work end; the first reason stands.

        Said again some time later, it is raised again: an exception from outside is lost where it
        meets a destructor, of which nothing comes out.
        """
        with self._gate:
            self._end = self._end or why
            now = time.monotonic()
            if self._within is not None and now - self._raised > RAISE_AGAIN_SECONDS:
                self._raised = now
                with starting:
                    _raise_in(self._within, self._end)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Within the block the end comes at any moment, not only where the work looks for it.

        For mathematics that lasts and looks nowhere: arrays in, arrays out. Whatever holds a lock, a file
        or a transaction must not be in here, and threads are begun under `starting` alone. A call that never
        comes back to Python is waited for.
        """
        self.raise_if_cancelled()
        if self._within is not None:
            yield  # within such a block already
            return
        with self._gate:
            self.raise_if_cancelled()
            self._within = threading.get_ident()
        try:
            yield
        finally:
            # From here on none is raised; one that was may still come until it is called off. `with`
            # lets the gate go then too: Python looks for exceptions from outside only within the block.
            self._within = None
            with self._gate:
                if self._end is not None:
                    _call_off()
        self.raise_if_cancelled()

    @property
    def current(self) -> tuple[str, int, int]:
        """The step, the units done and the total."""
        return self._current


class ProgressRange(Progress):
    """Progress of a part, as units of the whole."""

    def __init__(self, whole: Progress, first: int, last: int) -> None:
        super().__init__()
        self._whole, self._first, self._last = whole, first, last

    def report(self, step: str, done: int, total: int) -> None:
        part = done / total if total > 0 else 0.0
        at = self._first + round(min(part, 1.0) * (self._last - self._first))
        self._whole.report(step, at, SCALE)

    def raise_if_cancelled(self) -> None:
        self._whole.raise_if_cancelled()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        with self._whole.interruptible():
            yield


class NullProgress(Progress):
    """Progress that ignores reports and is never cancelled."""

    def report(self, step: str, done: int, total: int) -> None:
        pass

    def raise_if_cancelled(self) -> None:
        pass

    def subrange(self, first: int, last: int) -> Progress:
        return self

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        yield


NO_PROGRESS: Progress = NullProgress()


class _CalledOff(BaseException):
    """Takes the place of an exception that was raised in this thread and has not come."""


def _raise_in(thread: int, why: type[BaseException]) -> None:
    """Raise in another thread as soon as it runs Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(why))


def _call_off() -> None:
    """Have nothing come any more that was raised in this thread.

    One of our own takes its place and is caught. To raise nothing at all would do as well, but for a flag
    of Python 3.11 and 3.12, which goes down only when an exception comes: while it is up, a thread under a
    profiler or a debugger never gets on.
    """
    try:
        _raise_in(threading.get_ident(), _CalledOff)
        for _ in range(1_000):  # it comes at once, unless a destructor swallows it
            pass
    except _CalledOff:
        pass
