"""Rates are counted over processes, and no Redis can make a count larger than it is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from redis import Redis

from app.store.caches.circuit_breaker import CircuitBreaker
from app.store.caches.rate_counter import RateCounter
from app.store.vault import Vault
from tests.store.caches.lying_redis import LIES, lying_redis

VAULT = Vault(bytes(32))


@pytest.fixture(autouse=True)
def _one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that stands still, so that no window ends in the middle of a test."""
    monkeypatch.setattr("app.store.caches.rate_counter.time.time", lambda: 1_000_000.0)


def test_processes_count_together_through_redis(redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        one, two = (RateCounter(CircuitBreaker(redis), VAULT) for _ in range(2))
        counts = [counter.count("a").requests for counter in (one, one, two, one, two)]
        assert counts == [1, 2, 3, 4, 5]
        assert two.count("b").requests == 1


def test_what_somebody_else_left_in_redis_counts_nothing(redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        counter = RateCounter(CircuitBreaker(redis), VAULT)
        RateCounter(CircuitBreaker(redis), Vault(b"x" * 32)).count("a")
        counter.count("b")
        (moved,) = redis.keys("*:b:*")
        redis.copy(moved, moved.replace(b":b:", b":a:"), replace=True)
        redis.hset(moved.replace(b":b:", b":a:"), "f" * 16, "999")
        assert counter.count("a").requests == 1


@pytest.mark.parametrize("lie", LIES)
def test_a_redis_that_lies_changes_no_count(lie: str) -> None:
    with (
        lying_redis(LIES[lie]) as liar,
        Redis.from_url(liar.url, socket_timeout=0.1, retry=None) as redis,
    ):
        counter = RateCounter(CircuitBreaker(redis), VAULT)
        assert [counter.count("a").requests for _ in range(5)] == [1, 2, 3, 4, 5]


def test_a_redis_that_fails_is_left_alone_longer_each_time_and_tried_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = 0.0
    # The module's clock alone: the test run has uses for the real one.
    stopped = SimpleNamespace(monotonic=lambda: clock)
    monkeypatch.setattr("app.store.caches.circuit_breaker.time", stopped)
    asked: list[float] = []

    def failing(_: Redis) -> None:
        asked.append(clock)
        # While it is tried, nobody else is kept waiting.
        assert guarded.call(lambda _: "asked beside it") is None
        raise ValueError("nonsense")

    guarded = CircuitBreaker(Redis())
    guarded.call(lambda _: 1 / 0)
    for second in range(200):
        clock = float(second)
        guarded.call(failing)
    assert asked == [5.0, 15.0, 35.0, 75.0, 135.0, 195.0]
    clock = 300.0
    assert guarded.call(lambda _: "well") == "well"
    assert guarded.call(lambda _: "again") == "again"
