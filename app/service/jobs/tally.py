"""What one process counts of its jobs, for the metrics."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict

from app.store.database.jobs import JobState


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
