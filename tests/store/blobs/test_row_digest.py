"""The digest of rows: one for the same rows, another for any other."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.store.blobs.row_blocks import RowDigest

TABLE = pa.table(
    {
        "x": pa.array([1.0, None, -2.5, 0.0, 1e300], pa.float64()),
        "word": pa.array(["a", "", None, "bc", "ü"], pa.string()),
        "y": pa.array([0.5] * 5, pa.float64()),
    }
)


def digest(table: pa.Table, rows: int = 1_000) -> str:
    taken = RowDigest(table.schema)
    for batch in table.to_batches(max_chunksize=rows):
        taken.add(batch)
    return taken.digest().hex()


def test_the_digest_of_a_table_holds_for_ever() -> None:
    assert digest(TABLE) == KNOWN


KNOWN = "766012756761e9f0cc7870dd148f1153c7d2c0d18955487cc00c7a2b3e615982"


@given(st.lists(st.integers(0, 5), max_size=6))
def test_batches_do_not_matter(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), 5]
    taken = RowDigest(TABLE.schema)
    for first, last in pairwise(places):
        for batch in TABLE.slice(first, last - first).to_batches():
            taken.add(batch)
    assert taken.digest().hex() == digest(TABLE)


def test_how_arrow_keeps_texts_and_gaps_does_not_matter() -> None:
    large = TABLE.set_column(1, "word", TABLE["word"].cast(pa.large_string()))
    assert digest(large) == digest(TABLE)
    spelled = np.array([1.0, math.nan, -2.5, 0.0, 1e300])
    spelled.view(np.uint64)[1] |= np.uint64(1 << 63 | 5)  # another NaN
    gaps = TABLE.set_column(0, "x", pa.array(spelled))
    assert digest(gaps) == digest(TABLE)
    hidden = pa.array(["a", "", "hidden", "bc", "ü"])  # a text where the bitmap says: missing
    masked = pa.StringArray.from_buffers(
        5, hidden.buffers()[1], hidden.buffers()[2], TABLE["word"].chunk(0).buffers()[0]
    )
    assert digest(TABLE.set_column(1, "word", masked)) == digest(TABLE)


@pytest.mark.parametrize(
    "other",
    [
        TABLE.slice(0, 4),
        TABLE.take([0, 1, 2, 4, 3]),
        TABLE.select(["word", "x", "y"]),
        TABLE.rename_columns(["x", "ward", "y"]),
        TABLE.set_column(0, "x", pa.array([1.0, None, -2.5, -0.0, 1e300])),
        TABLE.set_column(0, "x", pa.array([1.0, 0.0, -2.5, 0.0, 1e300])),
        TABLE.set_column(1, "word", pa.array(["a", None, "", "bc", "ü"])),
        TABLE.set_column(1, "word", pa.array(["a", "b", None, "c", "ü"])),
        TABLE.set_column(2, "y", pa.array(["0.5"] * 5)),
    ],
    ids=["fewer", "order", "columns", "name", "sign", "gap", "empty", "cut", "type"],
)
def test_any_other_rows_have_another_digest(other: pa.Table) -> None:
    assert digest(other) != digest(TABLE)
