"""Rows that sum up the others, and notes below a table: records of nobody, and outliers in every column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidTable
from app.model import BLOCK_ROWS, Storage
from app.tables.dialect.number_syntax import is_total
from app.tables.stream import TableStream

NOTE = re.compile(
    r"^\s*(sources?|notes?|remarks?|quellen?|anmerkung(en)?|hinweise?|stand|fonte|fuente|notas?|remarques?)"
    r"\s*:",
    re.IGNORECASE,
)
"""How a note below a table begins; somebody who left all other cells empty is called otherwise."""

LAST_ROWS = 2
"""A total may be followed by an average."""

FEWEST_SUMMED = 4
"""Among fewer rows a number may be the sum of the others by chance."""

FEWEST_DIFFERENT = 3
"""Zeros and ones, or two numbers and no more, often add up to the last by chance."""

LARGEST_ADDEND = 0.9
"""As a share of the sum: where one number is nearly all of it, the last row rather repeats that one."""

ROUNDED = 1e-6
"""By how much of itself a sum may be off."""


def without_summary(stream: TableStream) -> TableStream:
    """The same stream, which ends in InvalidTable when its first or a last row is a total, or a note."""
    texts = [column.name for column in stream.columns if column.storage is Storage.TEXT]
    numbers = [
        column.name
        for column in stream.columns
        if column.storage is Storage.NUMBER and not column.date
    ]
    return replace(stream, batches=_watched(stream, texts, numbers))


class ColumnSums:
    """Of number columns, taken of many batches at once: of each by itself they cost a fifth of all reading."""

    def __init__(self, names: list[str]) -> None:
        self._sums = dict.fromkeys(names, 0.0)
        self._held: list[pa.RecordBatch] = []
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Count these rows too."""
        self._held.append(batch)
        self._rows += batch.num_rows
        if self._rows >= BLOCK_ROWS:
            self._take()

    def found(self) -> dict[str, float]:
        """The sums of all rows so far."""
        self._take()
        return self._sums

    def _take(self) -> None:
        for name in self._sums if self._held else ():
            cells = pa.chunked_array([batch.column(name) for batch in self._held])
            self._sums[name] += pc.sum(cells).as_py() or 0.0
        self._held, self._rows = [], 0


def _watched(stream: TableStream, texts: list[str], numbers: list[str]) -> Iterator[pa.RecordBatch]:
    last: pa.RecordBatch | None = None
    sums = ColumnSums(numbers)
    rows = 0
    try:
        for batch in stream.batches:
            if batch.num_rows:
                if last is None:
                    _refuse_totals(batch, texts, [0], 1)
                last, rows = batch, rows + batch.num_rows
                sums.add(batch)
            yield batch
    finally:
        stream.close()
    if last is not None:
        first_row = rows - last.num_rows + 1
        places = range(last.num_rows - 1, max(-1, last.num_rows - 1 - LAST_ROWS), -1)
        _refuse_totals(last, texts, places, first_row)
        _refuse_note(last, rows)
        _refuse_sums(last, rows, sums.found())


def _refuse_note(last: pa.RecordBatch, rows: int) -> None:
    """InvalidTable when the last row has a text in its first cell and nothing in all others."""
    first, *others = (last.column(place)[-1].as_py() for place in range(last.num_columns))
    if not others or not isinstance(first, str) or not NOTE.match(first):
        return
    before = [
        last.column(place).slice(0, last.num_rows - 1) for place in range(1, last.num_columns)
    ]
    alike = rows == 1 or all(cells.null_count == len(cells) for cells in before)
    if all(cell is None for cell in others) and not alike:
        raise InvalidTable(
            f"Row {rows} has a text in its first column and nothing else, as a note below a table has;"
            " leave it out.",
            row=rows,
        )


def _refuse_sums(last: pa.RecordBatch, rows: int, sums: dict[str, float]) -> None:
    """InvalidTable when the last row holds the sums of the rows above it, whatever it is called."""
    if rows <= FEWEST_SUMMED:
        return
    found = {name: cell for name in sums if (cell := last.column(name)[-1].as_py())}
    equal = [
        name
        for name, cell in found.items()
        if abs(sums[name] - 2 * cell) <= ROUNDED * abs(cell)  # the sum has the last row in it
        and _adds_up(last.column(name).slice(0, last.num_rows - 1), cell)
    ]
    if equal and (len(equal) > 1 or len(found) == 1):
        raise InvalidTable(
            f"Row {rows} holds the sum of all rows above it, in column {equal[0]!r}"
            f"{' and others' if len(equal) > 1 else ''}; leave it out.",
            column=equal[0],
            row=rows,
        )


def _adds_up(above: pa.Array, total: float) -> bool:
    """Whether several different numbers are behind `total`, none of them nearly all of it."""
    addends = above.filter(pc.not_equal(above, 0))
    if pc.count_distinct(addends).as_py() < FEWEST_DIFFERENT:
        return False
    return bool(pc.max(pc.abs(addends)).as_py() <= LARGEST_ADDEND * abs(total))


def _refuse_totals(
    batch: pa.RecordBatch, texts: list[str], places: Iterable[int], first_row: int
) -> None:
    for name in texts:
        cells = batch.column(name)
        for place in places:
            cell = cells[place].as_py()
            if cell is None or not is_total(cell):
                continue
            # A category that is called so occurs elsewhere, too.
            if len(cells) > 1 and pc.sum(pc.equal(cells, cell)).as_py() == 1:
                row = first_row + place
                raise InvalidTable(
                    f"Row {row} seems to sum up the others, by what stands in column {name!r}; "
                    "leave it out.",
                    column=name,
                    row=row,
                )
