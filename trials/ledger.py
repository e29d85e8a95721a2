"""Expected state of the service, as its clients recorded it.

An acknowledged operation must persist. An unanswered one may have happened or not, but only as a whole.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class KnownDataset:
    """An acknowledged data set."""

    id: str
    rows: int
    uncertain: list[int] = field(default_factory=list)
    """Rows of unanswered appends."""


@dataclass
class KnownCopy:
    """An acknowledged copy; its first `rows` rows must never change."""

    id: str
    dataset: str
    rows: int
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the first whole download, by media type."""


@dataclass
class KnownPrincipal:
    """A recipient; its key is None while the newest one is unknown."""

    id: str
    key: str | None
    revoked: str | None = None


@dataclass
class Ledger:
    """Expected state shared by the client threads."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    datasets: dict[str, KnownDataset] = field(default_factory=dict)
    copies: dict[str, KnownCopy] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    """Copies issued or downloaded since the last check."""

    principals: dict[str, KnownPrincipal] = field(default_factory=dict)
    uncertain_registrations: dict[str, int] = field(default_factory=dict)
    """Rows of unanswered registrations, by name."""

    fragments: list[tuple[str, str, bytes]] = field(default_factory=list)
    """Interrupted downloads: copy, media type, received bytes."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """Counts of answered and interrupted operations, by operation and status."""

    unexpected: list[str] = field(default_factory=list)
    """Answers that no fault explains."""

    def count(self, operation: str, outcome: object) -> None:
        with self.lock:
            self.outcomes[f"{operation} {outcome}"] += 1

    def add_unexpected(self, sentence: str) -> None:
        with self.lock:
            self.unexpected.append(sentence)

    def answers(self) -> int:
        """Count the answered operations."""
        with self.lock:
            return sum(n for operation, n in self.outcomes.items() if not operation.endswith("cut"))

    def drain_outcomes(self) -> Counter[str]:
        """Return the counts since the last call and reset them."""
        with self.lock:
            drained, self.outcomes = self.outcomes, Counter()
        return drained
