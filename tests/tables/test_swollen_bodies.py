"""A few bytes that say they are many values are refused, before or while they are read, in every format."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from app.errors import TooLarge
from app.tables.bodies import streams
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import AUTOMATIC, TableStream
from tests.tables.table_bodies import (
    LIMITS,
    as_arrow,
    as_csv,
    as_json,
    as_parquet,
    read,
    zstd,
)

MANY = 10_000_000
"""Rows of 8 bytes: more than is free."""


class Left(Exception):
    """Nobody waits for the table any more."""


def opened(
    body: bytes, folder: Path, look: Callable[[], object] = lambda: None, packed: str | None = None
) -> TableStream:
    return open_table(
        TableSource(io.BytesIO(body), content_encoding=packed), AUTOMATIC, LIMITS, folder, look
    )


def test_parquet_of_many_equal_values_is_refused_before_it_is_read(tmp_path: Path) -> None:
    body = as_parquet(pa.table({"a": pa.array([1], pa.int8()).take(pa.repeat(pa.scalar(0), MANY))}))
    assert len(body) < 100_000
    with pytest.raises(TooLarge, match="times its size"):
        opened(body, tmp_path)


def test_a_table_of_equal_values_that_is_small_is_read(tmp_path: Path) -> None:
    body = as_parquet(pa.table({"a": pa.repeat(pa.scalar(1), 1_000_000), "b": range(1_000_000)}))
    assert read(body, "", tmp_path).num_rows == 1_000_000


def test_a_dictionary_of_long_texts_is_refused_by_what_was_read(tmp_path: Path) -> None:
    """The footer says few values: it is their texts that take so much."""
    texts = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0), 20_000), ["x" * 10_000])
    body = as_parquet(pa.table({"a": texts}), row_group_size=2_000)
    assert len(body) < 200_000
    with pytest.raises(TooLarge), opened(body, tmp_path) as stream:
        for _ in stream.batches:
            pass


def test_packed_record_batches_are_refused_by_what_was_read(tmp_path: Path) -> None:
    batch = pa.record_batch({"a": pa.repeat(pa.scalar(1.0), 1_000_000)})
    body = as_arrow(pa.Table.from_batches([batch] * 10), compression="zstd")
    assert len(body) < 100_000
    with pytest.raises(TooLarge, match="times its size"):
        read(body, "", tmp_path)


def test_what_is_packed_twice_is_judged_by_what_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "FREE_BYTES", 2**16)
    body = as_parquet(pa.table({"a": pa.repeat(pa.scalar(1.0), 10_000)}), compression="none")
    assert len(zstd(body)) < 10_000 * 8 / streams.RATIO < len(body)
    assert read(body, "", tmp_path).num_rows == 10_000
    with pytest.raises(TooLarge):
        read(zstd(body), "", tmp_path, encoding="zstd")


ROWS = pa.table({"a": [float(one) for one in range(200_000)]})
BODIES = {
    "csv": lambda: as_csv(ROWS),
    "parquet": lambda: as_parquet(ROWS, row_group_size=50_000),
    "arrow": lambda: as_arrow(pa.Table.from_batches(ROWS.to_batches(max_chunksize=50_000))),
    "json": lambda: as_json(ROWS),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_reading_ends_at_the_batch_at_which_nobody_waits(
    body: Callable[[], bytes], tmp_path: Path
) -> None:
    looked = 0

    def look() -> None:
        nonlocal looked
        looked += 1
        if looked > 1:
            raise Left

    with opened(body(), tmp_path, look) as stream:
        assert next(stream.batches).num_rows < 200_000
        with pytest.raises(Left):
            next(stream.batches)
    assert list(tmp_path.iterdir()) == []
