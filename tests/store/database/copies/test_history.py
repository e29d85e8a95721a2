"""The history's chain of hashes: a known answer, and every change shows."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from app.model import HistoryEntry
from app.store.database.copies import history
from app.store.database.engine import open_engine, reading, writing

FIRST_HASH = hashlib.sha256(b"frozen").hexdigest()
AT = datetime(2026, 1, 1, tzinfo=UTC)


@contextmanager
def opened(url: str) -> Iterator[Engine]:
    engine = open_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


def appended(url: str, variances: list[float], dataset: str = "ds_1") -> list[HistoryEntry]:
    entries: list[HistoryEntry] = []
    with opened(url) as engine, writing(engine) as connection:
        for number, variance in enumerate(variances):
            entry = history.append(
                connection,
                entries,
                dataset=dataset,
                copy=f"{dataset}_cp_{number}",
                noise_variance=variance,
                recipe="aes256ctr-segments-v2",
                first_hash=FIRST_HASH,
                at=AT,
                principal="rc_1",
            )
            entries.append(entry)
    with opened(url) as engine, reading(engine) as connection:
        assert history.of(connection, dataset) == entries
    return entries


def test_entries_come_back_as_they_were_kept(database_url: str) -> None:
    entries = appended(database_url, [0.5, 0.1 + 0.2, 1e-9, 1e9])
    assert [entry.sequence for entry in entries] == [1, 2, 3, 4]
    assert [(entry.lower, entry.upper) for entry in entries] == [
        (None, None),
        (None, 0.5),
        (None, 0.1 + 0.2),
        (0.5, None),
    ]
    with opened(database_url) as engine, reading(engine) as connection:
        found = history.at_variance(connection, "ds_1", 0.1 + 0.2)
        assert found == history.of_copy(connection, "ds_1_cp_1") == entries[1]
        assert history.at_variance(connection, "ds_1", 0.3) is None
        assert history.page(connection, "ds_1", after=2, limit=1) == [entries[2]]


def test_the_hash_is_the_one_that_is_documented(sqlite_database: str) -> None:
    first, second = appended(sqlite_database, [0.5, 0.25])
    head = b"cornerwave history v3\0ds_1\0aes256ctr-segments-v2\0"
    content = head + struct.pack(">Qddd", 1, 0.5, 0.0, float("inf"))
    content += bytes.fromhex(FIRST_HASH)
    assert first.hash == hashlib.sha256(content).hexdigest()
    content = head + struct.pack(">Qddd", 2, 0.25, 0.0, 0.5) + bytes.fromhex(first.hash)
    assert second.hash == hashlib.sha256(content).hexdigest()


def test_the_hash_depends_on_all_that_a_draw_depends_on_and_on_nothing_else(
    sqlite_database: str,
) -> None:
    entry = appended(sqlite_database, [0.5, 0.25, 0.3])[-1]
    changes: dict[str, Any] = {
        "dataset": "ds_2",
        "sequence": 4,
        "noise_variance": 0.31,
        "lower": 0.2,
        "upper": 0.6,
        "recipe": "another",
        "previous_hash": FIRST_HASH,
    }
    for name, value in changes.items():
        assert history.entry_hash(replace(entry, **{name: value})) != entry.hash, name
    elsewhere = replace(entry, at=datetime.now(UTC), principal="rc_2", copy="cp_9")
    assert history.entry_hash(elsewhere) == entry.hash


def test_a_chain_that_was_touched_is_not_whole(sqlite_database: str) -> None:
    entries = appended(sqlite_database, [0.5, 0.25, 0.3, 2.0])
    assert history.follows(entries, FIRST_HASH, 0)
    assert history.follows([], FIRST_HASH, 0)
    assert not history.follows(entries, "0" * 64, 0)
    assert not history.follows(entries[1:], FIRST_HASH, 0)
    assert not history.follows(entries[:1] + entries[2:], FIRST_HASH, 0)
    assert not history.follows([entries[1], entries[0], *entries[2:]], FIRST_HASH, 0)
    for place in range(4):
        altered = entries.copy()
        altered[place] = replace(entries[place], noise_variance=7.0)
        assert not history.follows(altered, FIRST_HASH, 0)
        altered[place] = replace(entries[place], lower=0.01)
        assert not history.follows(altered, FIRST_HASH, 0)


def test_histories_of_data_sets_do_not_mix(database_url: str) -> None:
    ours = appended(database_url, [0.5, 0.25])
    theirs = appended(database_url, [0.5, 0.25], dataset="ds_2")
    assert {entry.hash for entry in ours}.isdisjoint(entry.hash for entry in theirs)


def test_a_variance_cannot_be_drawn_twice(database_url: str) -> None:
    with pytest.raises(IntegrityError):
        appended(database_url, [0.5, 0.5])
