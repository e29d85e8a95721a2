"""What the service acknowledged, as its principals wrote it down; and what they cannot know.

An answer that came is a promise. One that did not come leaves two possibilities, each of them whole:
the deed was done, or it was not.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class KnownDataset:
    """A data set that was acknowledged."""

    id: str
    rows: int
    perhaps: list[int] = field(default_factory=list)
    """Rows of appends without an answer."""


@dataclass
class KnownCopy:
    """A copy that was acknowledged; `rows` are asked for ever after, whatever is appended."""

    id: str
    dataset: str
    rows: int
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the bytes, by media type, as of the first whole download."""


@dataclass
class KnownPrincipal:
    """A recipient; its key is None while nobody can say which one is the newest."""

    id: str
    key: str | None
    revoked: str | None = None


@dataclass
class Ledger:
    """All of it, for many threads."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    datasets: dict[str, KnownDataset] = field(default_factory=dict)
    copies: dict[str, KnownCopy] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    """Copies that were issued or downloaded since all was last looked at."""

    principals: dict[str, KnownPrincipal] = field(default_factory=dict)
    perhaps_registered: dict[str, int] = field(default_factory=dict)
    """Rows of registrations without an answer, by name."""

    fragments: list[tuple[str, str, bytes]] = field(default_factory=list)
    """Downloads that were cut off: copy, media type, the bytes that had come."""

    deeds: Counter[str] = field(default_factory=Counter)
    """How many answers came, and how many did not, by deed and status."""

    surprises: list[str] = field(default_factory=list)
    """Answers that no fault excuses."""

    def count(self, deed: str, outcome: object) -> None:
        with self.lock:
            self.deeds[f"{deed} {outcome}"] += 1

    def surprise(self, sentence: str) -> None:
        with self.lock:
            self.surprises.append(sentence)

    def answers(self) -> int:
        """How many of the deeds were answered."""
        with self.lock:
            return sum(n for deed, n in self.deeds.items() if not deed.endswith("cut"))

    def told(self) -> Counter[str]:
        """The deeds since this was last asked."""
        with self.lock:
            told, self.deeds = self.deeds, Counter()
        return told
