"""The key book on both databases: every repetition is found, however many keys there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import Connection

from app.errors import DuplicateKey
from app.model import Column, Dataset, Kind, Level, Principal, Role, Storage
from app.service.datasets.overlap import comparison, row_fingerprints
from app.service.datasets.overlap.comparison import enter_keys, privacy_left
from app.service.datasets.overlap.row_fingerprints import KeyRuns
from app.store.database.datasets import datasets, key_books
from app.store.database.engine import open_engine, writing
from app.store.database.sharing import principals

Words = NDArray[np.uint64]


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    """A transaction on a database that has the data set ds_1."""
    engine = open_engine(database_url)
    now = datetime.now(UTC)
    column = Column("key", Kind.IDENTIFIER, Storage.TEXT, "Said so.")
    with writing(engine) as opened:
        principals.add(opened, Principal("rc_1", "owner", Role.OWNER), now)
        dataset = Dataset("ds_1", "people", "rc_1", 0, 0, (column,), "key", now)
        datasets.add(opened, dataset, sealed_secret=b"s", sealed_statistics=b"s")
        yield opened
    engine.dispose()


def entered(
    connection: Connection, folder: Path, *batches: Words, allow_versions: bool = False
) -> int:
    runs = KeyRuns(folder)
    for batch in batches:
        runs.add(batch)
    try:
        return enter_keys(connection, "ds_1", runs, allow_versions=allow_versions)
    finally:
        runs.close()


def some_keys(rng: np.random.Generator, count: int) -> Words:
    return rng.integers(0, 2**64, count, dtype=np.uint64)


def book(connection: Connection) -> dict[int, int]:
    """Every key of the book and how often it occurs."""
    found: dict[int, int] = {}
    for number in key_books.pages(connection, "ds_1"):
        page = key_books.page(connection, "ds_1", number)
        assert page is not None
        assert (np.diff(page[0].astype(object)) > 0).all()
        found |= dict(zip(page[0].tolist(), page[1].tolist(), strict=True))
    return found


def test_the_book_counts_every_key_however_it_grows(
    connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_fingerprints, "RUN_KEYS", 300)
    monkeypatch.setattr(comparison, "PAGE_KEYS", 16)
    rng = np.random.default_rng(3)
    pool = some_keys(rng, 1_500)
    pool[:3] = [0, 2**64 - 1, 2**63]
    expected: Counter[int] = Counter()
    for size in (1, 10, 700, 3, 2_000):
        rows = rng.choice(pool, size)
        expected.update(rows.tolist())
        most = entered(connection, tmp_path, *np.array_split(rows, 4), allow_versions=True)
        assert most == max(expected.values())
    assert book(connection) == dict(expected)
    kept = key_books.one(connection, "ds_1")
    assert kept is not None
    assert kept.keys == len(expected)
    assert kept.bits >= 6
    assert len(key_books.pages(connection, "ds_1")) <= 2**kept.bits


def test_a_key_that_comes_again_is_refused_and_counted(
    connection: Connection, tmp_path: Path
) -> None:
    keys = some_keys(np.random.default_rng(4), 5_000)
    assert entered(connection, tmp_path, keys) == 1
    with pytest.raises(DuplicateKey, match="2 of the keys") as refused:
        entered(connection, tmp_path, np.array([keys[7], 1, keys[4_999]], np.uint64))
    assert refused.value.fields["keys"] == 2


def test_the_same_key_twice_in_one_table_is_refused(connection: Connection, tmp_path: Path) -> None:
    with pytest.raises(DuplicateKey):
        entered(connection, tmp_path, np.array([5, 6, 5], np.uint64))


def test_nothing_is_entered_of_nothing(connection: Connection, tmp_path: Path) -> None:
    assert entered(connection, tmp_path) == 0
    assert book(connection) == {}


def test_k_versions_leave_the_privacy_of_a_kth_of_the_variance() -> None:
    assert privacy_left(Level("a", 9.0), 20) == pytest.approx(0.45 / 1.45)
    assert privacy_left(Level("a", 9.0), 1) == pytest.approx(0.9)
