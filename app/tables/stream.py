"""A table on its way in: options of its reader, its columns, and its rows in batches.

Whatever format a table came in, a number is a double, everything else is text, and a missing cell is a null: never a
NaN, never an empty text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol, Self, TypeVar

import pyarrow as pa

from app.errors import DomainError, InvalidParameter
from app.model import Notice, Storage

T = TypeVar("T")

MOST_ROWS = 5
LONGEST_TOKEN = 40
MOST_TOKENS = 50
MOST_SKIPPED = 1_000
LAST_HEADER_ROW = 1_000


class Header(StrEnum):
    """Whether the first row names the columns."""

    PRESENT = "present"
    ABSENT = "absent"


class Decimal(StrEnum):
    """The sign between whole and fraction."""

    POINT = "point"
    COMMA = "comma"

    @property
    def sign(self) -> str:
        return "." if self is Decimal.POINT else ","


class DateOrder(StrEnum):
    """Order of day and month in dates such as 03/04/2024."""

    DAY_FIRST = "day_first"
    MONTH_FIRST = "month_first"


@dataclass(frozen=True)
class ReadOptions:
    """Read options of a table; None is detected, and refused where two answers are plausible.

    where:
        delimiter  one character between fields
        encoding   a name that Python knows, such as utf-8 or windows-1252
        missing    further texts that stand for a missing cell, in any column
        sheet      the name of a sheet of a workbook
        dates      which of day and month stands first, where both can be
        header_row the line of a text, or the row of a sheet, that holds the column names
        skip_rows  rows to leave out: totals, notes, a row of units
        storage    columns that are read as numbers or as text whatever their values look like
    """

    delimiter: str | None = None
    decimal: Decimal | None = None
    encoding: str | None = None
    header: Header | None = None
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    dates: DateOrder | None = None
    header_row: int | None = None
    skip_rows: tuple[int, ...] = ()
    storage: Mapping[str, Storage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        said = self.delimiter
        if said is not None and (
            len(said) != 1 or said.isalnum() or said in "\"'\r\n\0.+-_" or not said.isascii()
        ):
            raise InvalidParameter(
                "The delimiter must be one character, such as a comma, a semicolon, a tab or |.",
                parameter="delimiter",
            )
        if len(self.missing) > MOST_TOKENS or any(
            not 0 < len(token) <= LONGEST_TOKEN for token in self.missing
        ):
            raise InvalidParameter(
                f"At most {MOST_TOKENS} tokens of 1 to {LONGEST_TOKEN} characters can stand for a "
                "missing cell.",
                parameter="missing",
            )
        if len(self.skip_rows) > MOST_SKIPPED or any(row < 1 for row in self.skip_rows):
            raise InvalidParameter(
                f"At most {MOST_SKIPPED} rows can be left out; they count from 1, below the column names.",
                parameter="skip_rows",
            )
        if self.header_row is not None and not 1 <= self.header_row <= LAST_HEADER_ROW:
            raise InvalidParameter(
                f"The column names can stand in a row from 1 to {LAST_HEADER_ROW}.",
                parameter="header_row",
            )


AUTOMATIC = ReadOptions()
"""Everything is detected."""


@dataclass(frozen=True)
class DetectedFormat:
    """Detected format of a table; None where its format has no such property.

    where:
        missing  the further texts that were taken for missing cells
    """

    format: str
    encoding: str | None = None
    delimiter: str | None = None
    decimal: Decimal | None = None
    header: Header | None = None
    sheet: str | None = None
    missing: tuple[str, ...] = ()


def row_number(position: int, left_out: Sequence[int]) -> int:
    """The row of a file at a position among those that are not left out; rows count from 1, positions from 0."""
    row = position + 1
    for one in sorted({*left_out}):
        if one > row:
            break
        row += 1
    return row


def named_rows(rows: Sequence[int]) -> str:
    """Rows in a sentence, the first five of them."""
    more = " and others" if len(rows) > MOST_ROWS else ""
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:MOST_ROWS]))}{more}"


ARROW_TYPE = {Storage.NUMBER: pa.float64(), Storage.TEXT: pa.large_string()}
"""The Arrow type of a batch's column. Large, because 65,536 long texts may exceed 2 GiB."""


def category_text(values: pa.Array) -> pa.Array:
    """A column's values as the names of categories, or codes of them, as they are.

    A number is written as short as it can be.
    """
    if pa.types.is_large_string(values.type) or pa.types.is_dictionary(values.type):
        return values
    return values.cast(pa.large_string())


@dataclass(frozen=True)
class TableColumn:
    """A column before its kind is inferred.

    where:
        empty  all values seen so far are missing
        note   what its owner should know of how it was read
        date_format  its numbers are days since 1970, or seconds where this has a time of day
        whole  its first numbers came as integers
        unit   the sign of its numbers, empty for plain ones; None where no number was seen
    """

    name: str
    storage: Storage
    empty: bool = False
    note: str | None = None
    date_format: str | None = None
    whole: bool = False
    unit: str | None = None


@dataclass(frozen=True)
class TableStream:
    """Columns, and the rows once, in order; closing it closes the files and threads behind it.

    where:
        notices     what the owner should know of the reading; complete once the rows are read
        date_order  which of day and month stands first, where its sender says so
        problems    what is wrong with the table; complete once the rows are read, which then ends in an error
        left_out    numbers of rows of the file that are not among the table's
    """

    columns: tuple[TableColumn, ...]
    batches: Iterator[pa.RecordBatch]
    release: Callable[[], None] = field(default=lambda: None)
    read_as: DetectedFormat = field(default=DetectedFormat("arrow"))
    notices: list[Notice] = field(default_factory=list)
    date_order: DateOrder | None = None
    problems: list[DomainError] = field(default_factory=list)
    left_out: Sequence[int] = ()

    @property
    def schema(self) -> pa.Schema:
        """The schema that every batch has."""
        return pa.schema([(column.name, ARROW_TYPE[column.storage]) for column in self.columns])

    def row_number(self, position: int) -> int:
        """The row of the file that the table's row at a position is; positions count from 0."""
        return row_number(position, self.left_out)

    def map(self, function: Callable[[pa.RecordBatch], pa.RecordBatch]) -> TableStream:
        """The stream with a function applied to every batch."""
        return replace(self, batches=self._mapped(function))

    def _mapped(
        self, function: Callable[[pa.RecordBatch], pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        with self:
            yield from map(function, self.batches)

    def close(self) -> None:
        """Stop reading."""
        if (stop := getattr(self.batches, "close", None)) is not None:
            stop()
        self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BatchMap(Protocol):
    """Batches of a table to be made: applies a function to each, perhaps to several at a time, and yields the results
    in the order of the rows."""

    def __call__(self, function: Callable[[pa.RecordBatch], T], /) -> Iterator[T]: ...


DEPTH = 4
"""Batches parsed while the caller works on an earlier one."""


def prefetched(batches: Iterator[pa.RecordBatch], depth: int = DEPTH) -> Iterator[pa.RecordBatch]:
    """Batches parsed ahead by one thread, at most `depth` of them."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
    try:
        pending = deque(pool.submit(next, batches, None) for _ in range(depth))
        while (batch := pending.popleft().result()) is not None:
            pending.append(pool.submit(next, batches, None))
            yield batch
    finally:
        # Not waited for: it may be blocked on a client that sends slowly, and ends with it.
        pool.shutdown(wait=False, cancel_futures=True)
