"""Circuit breaker around Redis: every call may return None, and failures cost little time.

Redis is there for speed. When it fails, answers nonsense or does not answer in time, it is left
alone, for a while that doubles from one failure to the next; then one question is put to it, and
while that is open nobody else waits for it. So of a Redis that stands still one request in
`REST_SECONDS` or more notices, for as long as the socket's timeout.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from redis import Redis

REST_SECONDS, LONGEST_REST_SECONDS = 5.0, 60.0
"""How long Redis is left alone after it failed, the first time and at most."""

T = TypeVar("T")

log = logging.getLogger("cornerwave.redis")


class CircuitBreaker:
    """A Redis that may always have no answer."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._lock = threading.Lock()
        self._rest = REST_SECONDS
        self._rests_until = 0.0
        self._failing = False
        self._being_tried = False

    def call(self, question: Callable[[Redis], T]) -> T | None:
        """Return the answer to a question, or None; `question` also validates the answer.

        It may raise anything: a wrong answer shows in as many ways as there are wrong answers.
        """
        if not self._may_ask():
            return None
        try:
            answer = question(self._redis)
        except Exception as error:  # see above; a failure is never the principal's
            self._let_rest(error)
            return None
        with self._lock:
            self._failing = self._being_tried = False
            self._rest = REST_SECONDS
        return answer

    def works(self) -> bool:
        """Return whether it answers now."""
        try:
            return self._redis.ping() is True
        except Exception:  # as above
            return False

    def _may_ask(self) -> bool:
        with self._lock:
            if not self._failing:
                return True
            if self._being_tried or time.monotonic() < self._rests_until:
                return False
            self._being_tried = True
            return True

    def _let_rest(self, error: Exception) -> None:
        with self._lock:
            # Those who asked at the same time fail together: that is one failure.
            if self._failing and not self._being_tried:
                return
            self._rests_until = time.monotonic() + self._rest
            self._rest = min(2 * self._rest, LONGEST_REST_SECONDS)
            self._failing, self._being_tried = True, False
        log.warning("left alone", extra={"reason": type(error).__name__})
