"""Requests per minute and key: counted in Redis when there is one, else in this process.

A fixed window: cheap, and within a factor of two of the limit at its edges. No privacy property
depends on it, so when Redis is gone or slow the count goes on in the process.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import RedisError

WINDOW_SECONDS = 60
CALLERS_REMEMBERED = 100_000


@dataclass(frozen=True)
class Count:
    """How many requests in this window, with this one, and when the next window begins."""

    requests: int
    seconds_left: int


class RateCounter:
    """Counts requests by name in windows of a minute."""

    def __init__(self, redis: Redis | None) -> None:
        self._redis = redis
        self._lock = threading.Lock()
        self._window = 0
        self._counts: dict[str, int] = {}

    def count(self, name: str) -> Count:
        """Count one more request under `name`."""
        now = time.time()
        window = int(now // WINDOW_SECONDS)
        seconds_left = max(1, int((window + 1) * WINDOW_SECONDS - now))
        if self._redis is not None:
            try:
                return Count(self._count_in_redis(self._redis, name, window), seconds_left)
            except RedisError:
                pass
        return Count(self._count_here(name, window), seconds_left)

    @staticmethod
    def _count_in_redis(redis: Redis, name: str, window: int) -> int:
        key = f"cornerwave:rate:{name}:{window}"
        with redis.pipeline(transaction=False) as pipeline:
            pipeline.incr(key)
            pipeline.expire(key, 2 * WINDOW_SECONDS)
            return int(pipeline.execute()[0])

    def _count_here(self, name: str, window: int) -> int:
        with self._lock:
            if window != self._window or len(self._counts) > CALLERS_REMEMBERED:
                self._window, self._counts = window, {}
            self._counts[name] = self._counts.get(name, 0) + 1
            return self._counts[name]
