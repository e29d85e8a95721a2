"""Progress and cancellation of long work.

Functions that can last take a `progress` and report every step to it; NO_PROGRESS ignores reports. `report`
also raises Cancelled or Interrupted once the work is to stop.
"""

from __future__ import annotations

SCALE = 1_000
"""Units of work whose parts count in units of their own."""


class Cancelled(BaseException):
    """The job was cancelled. No `except Exception` on the way may keep it from ending."""


class Interrupted(BaseException):
    """The process stops, or lost the job to another: this attempt ends, the job does not."""


class Progress:
    """Step and units done of a job; the fraction never decreases, not even in a second attempt."""

    def __init__(self, step: str = "", done: int = 0, total: int = 0) -> None:
        self._current = (step, done, total)
        self._stop: type[Cancelled] | type[Interrupted] | None = None

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
        if self._stop is not None:
            raise self._stop

    def subrange(self, first: int, last: int) -> Progress:
        """Return the progress of a part of the work: the units `first` to `last` of SCALE."""
        return ProgressRange(self, first, last)

    def stop(self, reason: type[Cancelled] | type[Interrupted]) -> None:
        """Stop the work at its next report or checkpoint; the first reason stands."""
        self._stop = self._stop or reason

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


class NullProgress(Progress):
    """Progress that ignores reports and is never cancelled."""

    def report(self, step: str, done: int, total: int) -> None:
        pass

    def raise_if_cancelled(self) -> None:
        pass

    def subrange(self, first: int, last: int) -> Progress:
        return self


NO_PROGRESS: Progress = NullProgress()
