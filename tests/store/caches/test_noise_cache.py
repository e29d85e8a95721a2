"""The cache of noise blocks: bounded, and a Redis that fails in any way is as good as none."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from redis import Redis

from app.store.caches.block_cache import BESIDE_VALUES, BlockName, NoiseCache, cache_key
from app.store.caches.circuit_breaker import CircuitBreaker

KEY = cache_key(bytes(32))
NAME = BlockName("ab" * 32, 3)
BLOCK_BYTES = 2 * 100 * 8


def block(seed: int = 0, rows: int = 100) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(2, rows))


def got(cache: NoiseCache, name: BlockName = NAME, rows: int = 100) -> NDArray[np.float64] | None:
    return cache.get(name, columns=2, rows=rows, key=KEY)


def test_a_block_comes_back_and_cannot_be_written_to() -> None:
    cache = NoiseCache(10 * BLOCK_BYTES)
    cache.put(NAME, block(), KEY)
    found = got(cache)
    assert found is not None
    np.testing.assert_array_equal(found, block())
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0] = 1.0


def test_a_block_of_fewer_rows_does_not_do_and_a_longer_one_takes_its_place() -> None:
    cache = NoiseCache(10 * BLOCK_BYTES)
    cache.put(NAME, block(), KEY)
    assert got(cache, rows=101) is None
    cache.put(NAME, block(rows=200), KEY)
    assert got(cache, rows=101) is not None
    assert cache.bytes_held == 2 * BLOCK_BYTES + BESIDE_VALUES


def test_processes_share_blocks_through_redis(redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        NoiseCache(10 * BLOCK_BYTES, CircuitBreaker(redis)).put(NAME, block(), KEY)
        found = got(NoiseCache(10 * BLOCK_BYTES, CircuitBreaker(redis)))
        assert found is not None
        np.testing.assert_array_equal(found, block())
        redis.flushdb()
        assert got(NoiseCache(10 * BLOCK_BYTES, CircuitBreaker(redis))) is None


def test_redis_holds_nothing_that_can_be_read(redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        NoiseCache(10 * BLOCK_BYTES, CircuitBreaker(redis)).put(NAME, block(), KEY)
        (name,) = redis.keys()
        stored = redis.get(name)
        assert isinstance(stored, bytes)
        assert block()[0, :2].tobytes() not in stored
        assert redis.ttl(name) > 0


@pytest.mark.parametrize("damage", ["garbage", "flipped", "moved", "short", "text", "other key"])
def test_what_redis_should_not_hold_counts_as_absent(redis_url: str, damage: str) -> None:
    with Redis.from_url(redis_url) as redis:
        NoiseCache(10 * BLOCK_BYTES, CircuitBreaker(redis)).put(NAME, block(), KEY)
        (name,) = redis.keys()
        stored = redis.get(name)
        assert isinstance(stored, bytes)
        other = BlockName(NAME.draw, 4)
        match damage:
            case "garbage":
                redis.set(name, bytes(5_000))
            case "flipped":
                redis.set(name, stored[:50] + bytes([stored[50] ^ 1]) + stored[51:])
            case "moved":
                redis.rename(name, name.replace(b":3", b":4"))
            case "short":
                redis.set(name, b"x")
            case "text":
                redis.delete(name)
                redis.lpush(name, "a list")
            case "other key":
                NoiseCache(10**6, CircuitBreaker(redis)).put(
                    NAME, block(), cache_key(bytes(31) + b"1")
                )
        cache = NoiseCache(10 * BLOCK_BYTES, CircuitBreaker(redis))
        assert got(cache, other if damage == "moved" else NAME) is None


def test_a_redis_that_is_not_there_is_as_good_as_none() -> None:
    cache = NoiseCache(10 * BLOCK_BYTES, CircuitBreaker(Redis(port=1, socket_connect_timeout=0.2)))
    assert got(cache) is None
    cache.put(NAME, block(), KEY)
    assert got(cache) is not None


@pytest.fixture
def silent_server() -> Iterator[tuple[int, list[socket.socket]]]:
    """Accepts connections and never answers."""
    accepted: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    accepted.append(server.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1], accepted
        server.shutdown(socket.SHUT_RDWR)
    for connection in accepted:
        connection.close()
    thread.join()


def test_a_slow_redis_is_asked_once_and_then_left_alone(
    silent_server: tuple[int, list[socket.socket]],
) -> None:
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    port, accepted = silent_server
    redis = Redis(port=port, socket_timeout=0.1, retry=Retry(NoBackoff(), 0))
    cache = NoiseCache(10 * BLOCK_BYTES, CircuitBreaker(redis))
    for number in range(20):
        assert got(cache, BlockName("00" * 32, number)) is None
        cache.put(BlockName("00" * 32, number), block(), KEY)
    assert len(accepted) == 1
