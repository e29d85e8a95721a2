"""Where a block of a CSV ends is nobody's business: the table is the same, and so are its faults."""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.errors import InvalidTable
from app.model import Storage
from app.tables.formats import csv as reader
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import Header, ReadOptions
from tests.tables.table_bodies import LIMITS

MEBIBYTE = 2**20
SAID = ReadOptions(delimiter=",", header=Header.PRESENT)

letters = st.characters(codec="utf-8", categories=["L", "N", "P", "Z"])
cells = st.text(st.one_of(letters, st.sampled_from('€é😀\n\r",')), max_size=20).map(
    lambda text: "t" + text
)


class Dripping:
    """A body that gives a few bytes at a time, as many as `sizes` says in turn."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        self._content = io.BytesIO(content)
        self._sizes = sizes
        self._reads = 0

    def read(self, size: int, /) -> bytes:
        self._reads += 1
        return self._content.read(min(size, self._sizes[self._reads % len(self._sizes)]))


@contextmanager
def blocks(units: int, wide: int) -> Iterator[None]:
    """Blocks of `units` bytes, and one more for each `wide` columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "BLOCK_BYTES", units)
        patch.setattr(reader, "WIDE", wide)
        yield


def written(rows: list[list[str]], end: str = "\n", *, quoted: bool = False) -> str:
    """Rows as CSV, in quotes what needs them, or all; Python leaves carriage returns without them."""
    return "".join(",".join(field(cell, quoted=quoted) for cell in row) + end for row in rows)


def field(cell: str, *, quoted: bool) -> str:
    doubled = cell.replace('"', '""')
    return f'"{doubled}"' if quoted or set(cell) & set('",\r\n') else cell


def read(
    body: bytes | Dripping,
    params: ReadOptions = SAID,
    *,
    packed: str | None = None,
    texts: int = 0,
) -> pa.Table:
    """The table; the first `texts` columns are said to be text, whatever they look like."""
    source = io.BytesIO(body) if isinstance(body, bytes) else body
    wished = {f"c{place}": Storage.TEXT for place in range(texts)}
    with open_table(
        TableSource(source, "text/csv", packed), replace(params, storage=wished), LIMITS, Path()
    ) as stream:
        return pa.Table.from_batches(list(stream.batches), stream.schema)


@st.composite
def grids(draw: st.DrawFn) -> list[list[str]]:
    """Names, and rows of texts that all columns keep as they are."""
    width = draw(st.integers(1, 8))
    rows = draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=12))
    return [[f"c{place}" for place in range(width)], *rows]


def longest_record(grid: list[list[str]]) -> int:
    """In bytes of UTF-8, with its line break."""
    return max(len(written([row], "\r\n", quoted=True).encode()) for row in grid)


@given(
    grid=grids(),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    quoted=st.booleans(),
    ended=st.booleans(),
    slack=st.integers(0, 40),
    wide=st.integers(1, 9),
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=5),
    before=st.sampled_from([b"", codecs.BOM_UTF8, b"sep=,\r\n"]),
)
def test_a_table_is_the_same_wherever_its_blocks_end(
    grid: list[list[str]],
    end: str,
    quoted: bool,
    ended: bool,
    slack: int,
    wide: int,
    sizes: list[int],
    before: bytes,
) -> None:
    text = written(grid, end, quoted=quoted)
    body = before + (text if ended else text.removesuffix(end)).encode()
    with blocks(longest_record(grid) + slack, wide):
        table = read(Dripping(body, sizes), texts=len(grid[0]))
    assert table.column_names == grid[0]
    assert [list(row.values()) for row in table.to_pylist()] == grid[1:]


@given(
    grid=grids(),
    charset=st.sampled_from(["utf-16-le", "utf-16", "utf-32-be", "windows-1252"]),
    slack=st.integers(0, 40),
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=5),
)
def test_a_table_in_another_encoding_is_the_same_wherever_its_blocks_end(
    grid: list[list[str]], charset: str, slack: int, sizes: list[int]
) -> None:
    text = written(grid)
    try:
        body = text.encode(charset)
    except UnicodeEncodeError:
        assume(False)
    said = ReadOptions(delimiter=",", header=Header.PRESENT, encoding=charset)
    with blocks(longest_record(grid) + slack, wide=3):
        table = read(Dripping(body, sizes), said, texts=len(grid[0]))
    assert [list(row.values()) for row in table.to_pylist()] == grid[1:]


@given(
    grid=grids(),
    more=st.integers(1, 3),
    place=st.integers(0, 11),
    slack=st.integers(0, 40),
    wide=st.integers(1, 9),
)
def test_a_row_with_too_many_fields_is_named_wherever_its_block_ends(
    grid: list[list[str]], more: int, place: int, slack: int, wide: int
) -> None:
    row = 1 + place % (len(grid) - 1)
    grid[row] = grid[row] + ["t"] * more
    with (
        blocks(longest_record(grid) + slack, wide),
        pytest.raises(InvalidTable, match=f"^Row {row} has {len(grid[row])} fields") as refused,
    ):
        read(written(grid).encode(), texts=len(grid[0]))
    assert refused.value.fields["row"] == row


@pytest.mark.parametrize(
    "size",
    [MEBIBYTE + 1, 2 * MEBIBYTE, 2 * MEBIBYTE + 1, 2 * MEBIBYTE + 20_000, 4 * MEBIBYTE + 1],
)
@pytest.mark.parametrize("columns", [127, 128, 129, 200])
def test_the_number_of_columns_does_not_matter_around_the_ends_of_blocks(
    columns: int, size: int
) -> None:
    check(columns, size)


@pytest.mark.parametrize("mebibytes", [2, 4])
def test_as_many_columns_as_there_may_be_are_read_around_the_ends_of_blocks(mebibytes: int) -> None:
    check(2_000, mebibytes * MEBIBYTE + 1)


def check(columns: int, size: int) -> None:
    """A body of exactly so many bytes, packed or not, is read as the numbers that it was made of."""
    names = ",".join(f"c{place}" for place in range(columns))
    numbers = np.random.default_rng(columns).integers(1, 10**15, (size // (10 * columns), columns))
    lines = [names, *(",".join(map(str, row)) for row in numbers.tolist())]
    ends = np.cumsum([len(line) + 1 for line in lines])
    rows = int(np.searchsorted(ends, size, side="right")) - 1
    text = "\n".join(lines[: rows + 1]) + "\n"
    # Zeros behind a decimal point fill it up: the last cell keeps its value.
    missing = size - len(text)
    text = text[:-1] + ("." + "0" * (missing - 1) if missing else "") + "\n"
    body = text.encode()
    assert len(body) == size
    table = read(gzip.compress(body, 1), packed="gzip") if columns == 129 else read(body)
    found = np.column_stack([column.to_numpy() for column in table.columns])
    np.testing.assert_array_equal(found, numbers[:rows])


@pytest.mark.parametrize("columns", [127, 128, 200])
@pytest.mark.parametrize("off", [-1, 1])
def test_a_row_of_other_length_in_a_late_block_is_named(columns: int, off: int) -> None:
    line = ",".join(["1234.5678"] * columns)
    names = ",".join(f"c{place}" for place in range(columns))
    rows = 9 * MEBIBYTE // len(line)
    lines = [names, *[line] * rows]
    wrong = rows - 7
    lines[wrong] = ",".join(["1.5"] * (columns + off))
    with pytest.raises(InvalidTable, match=f"^Row {wrong} has {columns + off} fields where"):
        read("\n".join(lines).encode())


@pytest.mark.parametrize("columns", [2, 128, 400])
def test_rows_of_nearly_a_block_are_read(columns: int) -> None:
    long = "x" * (MEBIBYTE - 10 * columns)
    grid = [
        [f"c{place}" for place in range(columns)],
        *[[f"{row}{long}", *["t"] * (columns - 1)] for row in range(5)],
    ]
    table = read(written(grid).encode(), ReadOptions(), texts=columns)
    assert table.column("c0").to_pylist() == [row[0] for row in grid[1:]]


@pytest.mark.parametrize("columns", [2, 128])
@pytest.mark.parametrize("row", [1, 2, 40])
def test_a_row_that_is_longer_than_blocks_is_named(columns: int, row: int) -> None:
    grid = [["t"] * columns for _ in range(100)]
    grid[0] = [f"c{place}" for place in range(columns)]
    grid[row] = ["x" * 5 * MEBIBYTE, *["t"] * (columns - 1)]
    with pytest.raises(InvalidTable, match=f"^Row {row} is longer than {MEBIBYTE} bytes"):
        read(written(grid).encode(), texts=columns)


def test_a_long_text_does_not_hide_the_delimiter() -> None:
    body = "name;n\n" + "".join(f"{'x' * 150_000}{n};{n}\n" for n in range(3))
    assert read(body.encode(), ReadOptions()).column("n").to_pylist() == [0, 1, 2]


def test_line_breaks_at_the_end_of_cells_are_no_open_quotes() -> None:
    # More blocks than Arrow reads ahead, so that quotes are counted in the middle of a text.
    grid = [["a", "b"], *[["t", f"{'x' * (1 + n % 60)}\n"] for n in range(3_000)]]
    with blocks(128, wide=64):
        table = read(written(grid).encode())
    assert table.column("b").to_pylist() == [row[1] for row in grid[1:]]
