"""Any table in any supported dialect: told, it is read back equal; untold, equal or refused."""

from __future__ import annotations

import csv
import io
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import DomainError
from app.tables.stream import Decimal, Header, ReadOptions
from tests.tables.table_bodies import read

ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "windows-1252"]
WORDS = st.sampled_from(
    [
        "Köln",
        "Rome",
        "São Paulo",
        "a, b",
        "x;y",
        'say "no"',
        "O'Neil",
        "café",
        "n/a here",
        "A|B",
        "line\nbreak",
    ]
)


@dataclass(frozen=True)
class Dialect:
    delimiter: str
    decimal: Decimal
    encoding: str
    header: Header
    line_end: str
    quote_all: bool

    def told(self) -> ReadOptions:
        encoding = "utf-8" if self.encoding == "utf-8-sig" else self.encoding
        return ReadOptions(self.delimiter, self.decimal, encoding, self.header)


dialects = st.builds(
    Dialect,
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from(Decimal),
    encoding=st.sampled_from(ENCODINGS),
    header=st.sampled_from(Header),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quote_all=st.booleans(),
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[float | str | None]]:
    rows = draw(st.integers(1, 12))
    columns: dict[str, list[float | str | None]] = {}
    for position in range(draw(st.integers(2, 5))):
        numbers = st.floats(-1e9, 1e9).map(lambda x: round(x, 3))
        cells: st.SearchStrategy[float | str] = numbers if draw(st.booleans()) else WORDS
        first = draw(cells)
        rest = draw(st.lists(cells | st.none(), min_size=rows - 1, max_size=rows - 1))
        columns[f"field_{position}"] = [first, *rest]
    return columns


def written(columns: dict[str, list[float | str | None]], dialect: Dialect) -> bytes:
    sink = io.StringIO(newline="")
    writer = csv.writer(
        sink,
        delimiter=dialect.delimiter,
        lineterminator=dialect.line_end,
        quoting=csv.QUOTE_ALL if dialect.quote_all else csv.QUOTE_MINIMAL,
    )
    if dialect.header is Header.PRESENT:
        writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_cell(cell, dialect.decimal) for cell in row])
    return sink.getvalue().encode(dialect.encoding)


def _cell(cell: float | str | None, decimal: Decimal) -> str:
    if cell is None:
        return ""
    return repr(cell).replace(".", decimal.sign) if isinstance(cell, float) else cell


def expected(columns: dict[str, list[float | str | None]], dialect: Dialect) -> list[list[object]]:
    return [list(cells) for cells in columns.values()]


def cells_of(table: pa.Table) -> list[list[object]]:
    return [column.to_pylist() for column in table.columns]


@settings(deadline=None, max_examples=150)
@given(columns=tables(), dialect=dialects)
def test_a_table_in_a_dialect_that_is_told_is_read_back_equal(
    columns: dict[str, list[float | str | None]], dialect: Dialect
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        got = read(written(columns, dialect), "text/csv", Path(folder), params=dialect.told())
    assert cells_of(got) == expected(columns, dialect)


@settings(deadline=None, max_examples=250)
@given(columns=tables(), dialect=dialects)
def test_a_table_in_a_dialect_that_nobody_tells_is_read_back_equal_or_refused(
    columns: dict[str, list[float | str | None]], dialect: Dialect
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            got = read(written(columns, dialect), "text/csv", Path(folder))
        except DomainError:
            return
    assert cells_of(got) == expected(columns, dialect)
