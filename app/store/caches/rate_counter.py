"""Rate limit counters per key and minute: in process, shared through Redis.

A fixed window: cheap, and within a factor of two of the limit at its edges. Each process leaves its
own count in Redis, sealed, and adds up what it finds there. A Redis that is gone, slow or wrong can
therefore lose counts of others, and never make up any: nobody is refused on its word.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass

from redis import Redis

from app.store.caches.circuit_breaker import CircuitBreaker
from app.store.vault import SealBroken, Vault

WINDOW_SECONDS = 60
PRINCIPALS_REMEMBERED = 100_000
MOST_PROCESSES = 1_000


@dataclass(frozen=True)
class Count:
    """How many requests in this window, with this one, and when the next window begins."""

    requests: int
    seconds_left: int


class RateCounter:
    """Counts requests by name in windows of a minute."""

    def __init__(self, redis: CircuitBreaker | None, vault: Vault) -> None:
        self._redis = redis
        self._vault = vault
        self._process = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._window = 0
        self._counts: dict[str, int] = {}

    def count(self, name: str) -> Count:
        """Count one more request under `name`."""
        now = time.time()
        window = int(now // WINDOW_SECONDS)
        seconds_left = max(1, int((window + 1) * WINDOW_SECONDS - now))
        here = self._count_here(name, window)
        elsewhere = None
        if self._redis is not None:
            elsewhere = self._redis.call(
                lambda redis: self._count_elsewhere(redis, f"{name}:{window}", here)
            )
        return Count(here + (elsewhere or 0), seconds_left)

    def _count_elsewhere(self, redis: Redis, what: str, here: int) -> int:
        """Leave the count of this process, and add up those of others."""
        key = f"cornerwave:rate:{what}"
        with redis.pipeline(transaction=False) as pipeline:
            pipeline.hset(key, self._process, self._vault.seal(b"%d" % here, self._seal(what)))
            pipeline.expire(key, 2 * WINDOW_SECONDS)
            pipeline.hgetall(key)
            counts = pipeline.execute()[2]
        if len(counts) > MOST_PROCESSES:
            raise ValueError("more processes than there can be")
        return sum(
            self._opened(sealed, what, process.decode("ascii"))
            for process, sealed in counts.items()
            if process != self._process.encode()
        )

    def _opened(self, sealed: bytes, what: str, process: str) -> int:
        try:
            return int(self._vault.open(sealed, self._seal(what, process)))
        except SealBroken:
            return 0  # not of this service, or not of this minute

    def _seal(self, what: str, process: str | None = None) -> str:
        return f"rate:{what}:{process or self._process}"

    def _count_here(self, name: str, window: int) -> int:
        with self._lock:
            if window != self._window or len(self._counts) > PRINCIPALS_REMEMBERED:
                self._window, self._counts = window, {}
            self._counts[name] = self._counts.get(name, 0) + 1
            return self._counts[name]
