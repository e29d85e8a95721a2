"""Retry policy: which requests are sent again, and after which delay; pure, for both drivers.

A request is repeated only if that cannot do anything twice: it reads, or computes without keeping, or carries an
Idempotency-Key. What the service asks for by Retry-After is kept to; else pauses double, with jitter, so
that many clients do not come back at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from time import time

from cornerwave.problems import ConnectionFailed, problem_of
from cornerwave.transport.calls import Answer, Call

PASSING = frozenset({408, 425, 429, 502, 503, 504})
"""Statuses that another try may not have."""


@dataclass(frozen=True)
class Retries:
    """Retry policy. `most` counts consecutive attempts that fail without a byte of progress."""

    most: int = 5
    first_pause_seconds: float = 0.5
    longest_pause_seconds: float = 60.0
    chance: Callable[[], float] = field(default=random.random, repr=False)

    def pause(self, failures: int) -> float:
        """Seconds before the next try: somewhere between half and all of a time that doubles."""
        whole = min(self.first_pause_seconds * 2.0 ** (failures - 1), self.longest_pause_seconds)
        return whole * (0.5 + self.chance() / 2)


class Attempts:
    """The tries of one call: each ends in `failed` or in `answered`, which say how long to wait or that it is over."""

    def __init__(self, call: Call, retries: Retries, address: str) -> None:
        self._call, self._retries, self._address = call, retries, address
        self._failures = 0
        self._taken = 0

    def failed(self, error: Exception) -> float:
        """The pause after a connection that failed, or ConnectionFailed."""
        pause = self._again()
        if pause is None:
            raise ConnectionFailed(
                f"{self._call.method} {self._address}{self._call.path}: {_said(error)}"
            ) from error
        return pause

    def answered(self, answer: Answer) -> float | None:
        """None for a success, else the pause, or the problem."""
        into = self._call.into
        if answer.status < 400 or (into and into.is_whole(answer.status, answer.headers)):
            return None
        if answer.status in PASSING:
            asked = seconds_to_wait(answer.headers)
            if asked is None or asked <= self._retries.longest_pause_seconds:
                pause = self._again()
                if pause is not None:
                    return max(pause, asked or 0)
        told = answer.headers.get("x-request-id", "")
        raise problem_of(answer.status, answer.content, self._address, told)

    def _again(self) -> float | None:
        into, body = self._call.into, self._call.body
        if into is not None and into.taken > self._taken:
            self._failures, self._taken = 0, into.taken
        self._failures += 1
        if self._failures >= self._retries.most or not (body is None or body.repeatable):
            return None
        return self._retries.pause(self._failures)


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Return the delay of Retry-After, given in seconds or as a date."""
    said = headers.get("retry-after")
    if said is None:
        return None
    if said.strip().isdigit():
        return float(said)
    try:
        return max(parsedate_to_datetime(said).timestamp() - time(), 0.0)
    except ValueError:
        return None


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
