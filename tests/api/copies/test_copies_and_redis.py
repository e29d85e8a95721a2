"""Copies with Redis, without it, and while it is emptied, filled with rubbish or gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from redis import Redis

from app.numerics.copies import path
from app.service.copies.generation.release import Release
from app.service.copies.generation.row_ranges import RowGroupRange
from tests.api.conftest import Service
from tests.api.copies.copy_tables import CSV, content, issue, mixed_table, register

ROWS = 500
KEPT = 3
"""Of the six copies below: 1, 0.7 and 0.6 lie between two drawn before, which cost draws too."""


@pytest.fixture
def bodies(sqlite_database: str, tmp_path: Path) -> dict[str, bytes]:
    """Six copies as a service without Redis gives them, by copy id."""
    service = Service(sqlite_database, tmp_path / "home")
    client = service.client()
    dataset = register(client, mixed_table(ROWS))
    copies = [issue(client, dataset, level=level)["id"] for level in ("b", "d", "a", "c")]
    copies += [issue(client, dataset, noise_variance=v)["id"] for v in (0.7, 0.6)]
    found = {copy: content(client, copy, CSV).content for copy in copies}
    service.close()
    return found


@pytest.fixture
def with_redis(
    bodies: dict[str, bytes], sqlite_database: str, tmp_path: Path, redis_url: str
) -> Iterator[Service]:
    """The same service with Redis and hardly any cache of its own."""
    service = Service(
        sqlite_database, tmp_path / "home", REDIS_URL=redis_url, NOISE_CACHE_BYTES="1"
    )
    yield service
    service.close()


def downloads(service: Service, copies: dict[str, bytes]) -> dict[str, bytes]:
    client = service.client()
    return {copy: content(client, copy, CSV).content for copy in copies}


def test_redis_changes_nothing(bodies: dict[str, bytes], with_redis: Service) -> None:
    assert downloads(with_redis, bodies) == bodies
    assert downloads(with_redis, bodies) == bodies


def test_blocks_that_hang_from_two_others_or_more_are_found_in_redis_again(
    bodies: dict[str, bytes], with_redis: Service, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads(with_redis, bodies)
    with Redis.from_url(redis_url) as redis:
        assert len(redis.keys("cornerwave:noise:*")) == KEPT
    monkeypatch.setattr(path, "Keystream", None)  # nothing can be drawn now
    last_three = dict(list(bodies.items())[-KEPT:])
    assert downloads(with_redis, last_three) == last_three


def test_rubbish_in_redis_changes_nothing(
    bodies: dict[str, bytes], with_redis: Service, redis_url: str
) -> None:
    downloads(with_redis, bodies)
    with Redis.from_url(redis_url) as redis:
        names = redis.keys("cornerwave:noise:*")
        values = [redis.get(name) for name in names]
        for name, value in zip(names, values[1:] + values[:1], strict=True):
            assert isinstance(value, bytes)
            redis.set(name, value)
    assert downloads(with_redis, bodies) == bodies


def test_redis_emptied_in_the_middle_of_a_download_changes_nothing(
    bodies: dict[str, bytes],
    with_redis: Service,
    redis_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    downloads(with_redis, bodies)
    whole = Release._block

    def flushing(release: Release, piece: RowGroupRange) -> pa.RecordBatch:
        with Redis.from_url(redis_url) as redis:
            redis.flushdb()
        return whole(release, piece)

    monkeypatch.setattr(Release, "_block", flushing)
    assert downloads(with_redis, bodies) == bodies


def test_a_redis_that_is_gone_changes_nothing(
    bodies: dict[str, bytes], sqlite_database: str, tmp_path: Path
) -> None:
    service = Service(
        sqlite_database, tmp_path / "home", REDIS_URL="redis://127.0.0.1:1", NOISE_CACHE_BYTES="1"
    )
    assert downloads(service, bodies) == bodies
    service.close()
