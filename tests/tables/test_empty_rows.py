"""Lines of nothing but delimiters at the end of a CSV are no rows; all others are."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from app.model import Notice
from app.tables.formats import csv as reader
from app.tables.reading import read_batches
from tests.tables.table_bodies import LIMITS

ROWS = "n,kind,m\n1,a,2\n2,b,3\n"


def read(body: str) -> tuple[list[list[object]], list[Notice]]:
    with read_batches(io.BytesIO(body.encode()), "text/csv", None, LIMITS, Path()) as stream:
        rows = [list(row.values()) for batch in stream.batches for row in batch.to_pylist()]
        return rows, list(stream.notices)


@pytest.mark.parametrize("block", [24, 31, 2**20])
@pytest.mark.parametrize(
    "end", [",,\n", ",,", ",,\n,,\n,,\n", ",,\r\n,,\r\n", '"","",""\n', ",,\n\n,,\n\n", ",,\n" * 50]
)
def test_empty_rows_at_the_end_are_left_out_and_told(
    end: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "BLOCK_BYTES", block)
    rows, notices = read(ROWS + end)
    assert rows == [[1.0, "a", 2.0], [2.0, "b", 3.0]]
    (told,) = notices
    count = sum("," in line for line in end.splitlines())
    assert told.type == "empty-rows"
    assert f" {count} row{'s' if count > 1 else ''} in which" in told.detail
    assert "from row 3 on" in told.detail


@pytest.mark.parametrize("block", [24, 2**20])
def test_empty_rows_between_others_stay(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "BLOCK_BYTES", block)
    rows, notices = read(ROWS + ",,\n" * 40 + "3,c,4\n")
    assert rows == [
        [1.0, "a", 2.0],
        [2.0, "b", 3.0],
        *[[None, None, None]] * 40,
        [3.0, "c", 4.0],
    ]
    assert notices == []


def test_rows_that_say_that_all_is_missing_stay() -> None:
    rows, notices = read("n,m\n1,2\n2,3\nNA,NA\n,\n\n")
    assert rows == [[1.0, 2.0], [2.0, 3.0], [None, None]]
    assert "1 row in which" in notices[0].detail
    assert read("n,m\n1,2\n2,3\nNA,NA\n\n\n") == ([[1.0, 2.0], [2.0, 3.0], [None, None]], [])


def test_a_text_that_ends_in_commas_is_no_empty_row() -> None:
    rows, notices = read('n,kind\n1,a\n2,"b\n,\n,\n"\n')
    assert rows == [[1.0, "a"], [2.0, "b\n,\n,\n"]]
    assert notices == []


def test_a_row_of_which_the_end_is_empty_stays() -> None:
    assert read("n,kind,m\n1,a,2\n2,,\n") == ([[1.0, "a", 2.0], [2.0, None, None]], [])
