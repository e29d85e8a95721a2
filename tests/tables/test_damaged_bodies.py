"""A body that was cut or never ends is refused with what is wrong, where, and what to do."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from app.errors import InvalidTable
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import AUTOMATIC
from tests.tables.sheets.workbooks import xlsx
from tests.tables.table_bodies import LIMITS


def refused(body: bytes) -> str:
    """The words in which it is refused."""
    with pytest.raises(InvalidTable) as refusal:  # noqa: SIM117 - the stream is what raises
        with open_table(TableSource(io.BytesIO(body)), AUTOMATIC, LIMITS, Path()) as stream:
            list(stream.batches)
    return str(refusal.value)


def rows(count: int) -> str:
    return "".join(f"{n},name{n},{n * 1.5}\n" for n in range(count))


@pytest.mark.parametrize("above", [0, 50, 200_000])
@pytest.mark.parametrize("below", [0, 50])
def test_a_quote_that_is_never_closed_is_named_with_its_row(above: int, below: int) -> None:
    said = refused(f'n,name,v\n{rows(above)}50,"abc,3\n{rows(below)}'.encode())
    assert said.startswith(f"Row {above + 1} has 2 fields")
    assert "opened in this row is probably never closed" in said
    assert "Close it, or double quotes" in said


@pytest.mark.parametrize("above", [0, 50, 200_000])
def test_a_quote_before_megabytes_is_named_with_its_row(above: int) -> None:
    said = refused(f'n,name,v\n{rows(above)}50,"abc,3\n{rows(150_000)}'.encode())
    assert said.startswith(f"Row {above + 1} is longer than")
    assert "a quote is opened in it that is never closed" in said


@pytest.mark.parametrize("below", [50, 200_000])
def test_a_quote_among_the_names_is_looked_for_there(below: int) -> None:
    said = refused(f'n,"name,v\n{rows(below)}'.encode())
    assert said.startswith("The line of column names")
    assert "never closed" in said


def test_a_quote_that_the_next_one_seems_to_close_is_named_with_both_lines() -> None:
    said = refused(b'name,n\n"a",1\n"b,2\n"c",3\n"d",4\n')
    assert "in line 4, or one that is opened in line 3 is not closed" in said


def test_a_row_that_is_too_short_beside_even_quotes_is_no_open_quote() -> None:
    said = refused(b'n,name,v\n1,"a",2\n2,b\n3,c,4\n')
    assert said.startswith("Row 2 has 2 fields")
    assert "quotes, leave out lines" in said


def test_a_workbook_that_was_cut_is_to_be_sent_again() -> None:
    body = xlsx([["pay", "age"], *[[n / 7, n % 97 + 0.5] for n in range(60)]])
    for size in (40, len(body) // 2, len(body) - 1):
        said = refused(body[:size])
        assert f"of the {size} bytes that arrived the end is missing" in said
        assert "xlsx" in said
        assert "send it again" in said


def test_a_packed_body_that_was_cut_is_not_said_to_have_a_header() -> None:
    body = gzip.compress(rows(5_000).encode())
    said = refused(body[: len(body) // 2])
    assert said.startswith("The body begins as gzip does, without a Content-Encoding")
    assert "send it again" in said


def test_a_packed_workbook_is_to_be_unpacked() -> None:
    said = refused(gzip.compress(xlsx([["pay"], [1.5], [2.5]])))
    assert "Unpack it once" in said
