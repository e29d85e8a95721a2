"""Detection of total rows and of notes below a table: no records, and outliers in every column."""

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
"""Beginning of a note below a table; a record with all other cells empty begins otherwise."""

LAST_ROWS = 2
"""A total may be followed by an average."""

FEWEST_SUMMED = 4
"""Among fewer rows a number may be the sum of the others by chance."""

FEWEST_DIFFERENT = 3
"""Zeros and ones, or two numbers and no more, often add up to the last by chance."""

LARGEST_ADDEND = 0.9
"""As a share of the sum: where one number is nearly all of it, the last row rather repeats that one."""

Found = tuple[int, str | None]
"""Position of a row that is no record, and the column that tells; None for a note."""

ROUNDED = 1e-6
"""By how much of itself a sum may be off."""


def without_summary(stream: TableStream) -> TableStream:
    """The stream, with a problem where its first or a last row is a total, or a note."""
    return replace(stream, batches=_checked(stream))


def _checked(stream: TableStream) -> Iterator[pa.RecordBatch]:
    texts = [column.name for column in stream.columns if column.storage is Storage.TEXT]
    sums = {
        column.name: 0.0
        for column in stream.columns
        if column.storage is Storage.NUMBER and column.date_format is None
    }
    rows = held_rows = 0
    found: list[Found] = []
    held: list[pa.RecordBatch] = []
    with stream:
        for batch in stream.batches:
            if batch.num_rows:
                if rows == 0:
                    found += _totals(batch, texts, [0], 0)
                last, rows = batch, rows + batch.num_rows
                # Many batches at once: one by one their sums cost a fifth of all reading.
                held.append(batch)
                held_rows += batch.num_rows
                if held_rows >= BLOCK_ROWS:
                    _add(sums, held)
                    held, held_rows = [], 0
            yield batch
    if rows:
        _add(sums, held)
        places = range(last.num_rows - 1, max(-1, last.num_rows - 1 - LAST_ROWS), -1)
        found += _totals(last, texts, places, rows - last.num_rows)
        found += _note(last, rows)
        if not found:
            found += _sums(last, rows, sums)
    for position, column in dict(found).items():
        stream.problems.append(_problem(stream.row_number(position), column))


def _problem(row: int, column: str | None) -> InvalidTable:
    what = (
        "has a text in its first column and nothing else, as a note below a table has"
        if column is None
        else f"seems to sum up the others, by what stands in column {column!r}"
    )
    return InvalidTable(
        f"Row {row} {what}; leave it out, or say skip_rows={row}.",
        column=column,
        row=row,
        parameters={"skip_rows": [row]},
    )


def _add(sums: dict[str, float], batches: list[pa.RecordBatch]) -> None:
    for name in sums if batches else ():
        cells = pa.chunked_array([batch.column(name) for batch in batches])
        sums[name] += pc.sum(cells).as_py() or 0.0


def _note(last: pa.RecordBatch, rows: int) -> list[Found]:
    """The last row, where it has a text in its first cell and nothing in all others."""
    first, *others = (last.column(place)[-1].as_py() for place in range(last.num_columns))
    if not others or not isinstance(first, str) or not NOTE.match(first):
        return []
    before = [
        last.column(place).slice(0, last.num_rows - 1) for place in range(1, last.num_columns)
    ]
    alike = rows == 1 or all(cells.null_count == len(cells) for cells in before)
    return [] if alike or any(cell is not None for cell in others) else [(rows - 1, None)]


def _sums(last: pa.RecordBatch, rows: int, sums: dict[str, float]) -> list[Found]:
    """The last row, where it holds the sums of the rows above it, whatever it is called."""
    if rows <= FEWEST_SUMMED:
        return []
    found = {name: cell for name in sums if (cell := last.column(name)[-1].as_py())}
    equal = [
        name
        for name, cell in found.items()
        if abs(sums[name] - 2 * cell) <= ROUNDED * abs(cell)  # the sum has the last row in it
        and _adds_up(last.column(name).slice(0, last.num_rows - 1), cell)
    ]
    return [(rows - 1, equal[0])] if equal and (len(equal) > 1 or len(found) == 1) else []


def _adds_up(above: pa.Array, total: float) -> bool:
    """Return whether several different numbers are behind `total`, none of them nearly all of it."""
    addends = above.filter(pc.not_equal(above, 0))
    if pc.count_distinct(addends).as_py() < FEWEST_DIFFERENT:
        return False
    return bool(pc.max(pc.abs(addends)).as_py() <= LARGEST_ADDEND * abs(total))


def _totals(
    batch: pa.RecordBatch, texts: list[str], places: Iterable[int], first: int
) -> list[Found]:
    """The rows at these places that are headed as totals; `first` is the position of the batch's first."""
    found: list[Found] = []
    for name in texts:
        cells = batch.column(name)
        for place in places:
            cell = cells[place].as_py()
            # A category that is called so occurs elsewhere, too.
            if (
                cell is not None
                and is_total(cell)
                and len(cells) > 1
                and pc.sum(pc.equal(cells, cell)).as_py() == 1
            ):
                found.append((first + place, name))
    return found
