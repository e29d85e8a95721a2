"""Tables out as Excel workbooks: every cell reads as what it was, and nothing in one is a formula."""

from __future__ import annotations

import datetime as dt
import io

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from app.errors import NotAcceptable
from app.tables.formats import xlsx_writer
from app.tables.media import MediaType
from app.tables.writer import write_batches, write_table

TABLE = pa.table(
    {
        "number": pa.array([1.5, -2e-300, None, 1e300]),
        "whole": pa.array([1, None, -3, 2**53], pa.int64()),
        "text": pa.array(["=1+1", "<b>&amp;", None, "tab\there \x01 line\nend"], pa.large_string()),
        "day": pa.array([dt.date(2024, 2, 29), dt.date(1850, 1, 2), None, dt.date(1900, 3, 1)]),
        "all <missing>": pa.array([None] * 4, pa.float64()),
    }
)


def written(table: pa.Table) -> bytes:
    return b"".join(write_table(table, MediaType.XLSX))


def test_every_cell_reads_as_what_it_was() -> None:
    book = openpyxl.load_workbook(io.BytesIO(written(TABLE)))
    names, *rows = [[cell.value for cell in row] for row in book.active.iter_rows()]
    assert names == TABLE.column_names
    assert [row[0] for row in rows] == TABLE.column("number").to_pylist()
    assert [row[1] for row in rows] == TABLE.column("whole").to_pylist()
    # Excel reads _x0001_ as the character of that number; openpyxl leaves it as it is.
    assert [row[2] for row in rows] == ["=1+1", "<b>&amp;", None, "tab\there _x0001_ line\nend"]
    days = [dt.datetime(2024, 2, 29), "1850-01-02", None, dt.datetime(1900, 3, 1)]
    assert [row[3] for row in rows] == days
    assert [row[4] for row in rows] == [None] * 4
    kinds = {cell.data_type for row in book.active.iter_rows() for cell in row}
    assert "f" not in kinds


def test_the_same_table_is_the_same_bytes_however_it_is_cut() -> None:
    table = pa.table({"x": np.arange(10_000.0)})
    at_once = written(table)
    in_parts = b"".join(
        write_batches(
            lambda then: map(then, table.to_batches(max_chunksize=900)),
            table.schema,
            MediaType.XLSX,
        )
    )
    assert at_once == written(table)
    read = [openpyxl.load_workbook(io.BytesIO(one)).active for one in (at_once, in_parts)]
    assert [[c.value for c in r] for r in read[0]] == [[c.value for c in r] for r in read[1]]


def test_text_that_looks_like_a_written_character_stays_text() -> None:
    book = openpyxl.load_workbook(io.BytesIO(written(pa.table({"t": ["_x0041_"]}))))
    assert book.active["A2"].value == "_x005F_x0041_"


def test_a_table_that_no_sheet_holds_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx_writer, "MOST_ROWS", 3)
    with pytest.raises(NotAcceptable, match="3 rows"):
        written(TABLE)
    with pytest.raises(NotAcceptable, match="characters in a cell"):
        written(pa.table({"t": ["x" * 40_000]}))
