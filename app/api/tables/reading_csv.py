"""CSV in: types from the first block, then one pass in bounded memory.

Missing is an empty field; in a number column also one of `MISSING_NUMBERS`. A column whose first
block holds numbers (or nothing but missing ones) is read as doubles, any other as text, exactly as
written. Integers with leading zeros or beyond 2⁵³ are codes rather than numbers and stay text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from app.api.tables.ahead import read_ahead
from app.api.tables.cells import (
    checked_names,
    first_inexact,
    inexact,
    not_a_number,
    refuse_not_finite,
    without_empty,
)
from app.api.tables.encoding import Counted
from app.errors import DomainError, InvalidTable
from app.model import Limits, Storage
from app.service.table_stream import ARROW_TYPE, TableColumn, TableStream

MISSING_NUMBERS = ("", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "?")
BLOCK_BYTES = 2**20
"""What is parsed at a time: the longest row possible."""

WIDE, LONGEST_BLOCK = 64, 16
"""Columns for which a block is one unit of `BLOCK_BYTES` longer, and most units of a block."""

HEADER_ROWS = 1
CODE = r"^[+-]?(0\d+|\d{16,})$"
"""Digits that a double would not give back: leading zeros, or more than it can hold for sure."""

CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+)")
RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


class Rewound:
    """A body whose beginning was looked at, from the beginning."""

    closed = False

    def __init__(self, head: bytes, rest: Counted) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        return self._head.read(size) or self._rest.read(size)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """The body belongs to the request, which closes it."""


def read_csv(body: Counted, limits: Limits, wished: Mapping[str, Storage]) -> TableStream:
    """The table in the CSV text of `body`."""
    head = body.read(BLOCK_BYTES)
    while len(head) < 2 * BLOCK_BYTES and (more := body.read(BLOCK_BYTES)):
        head += more
    if not head.strip():
        raise InvalidTable("The body is empty")
    columns, whole = _columns(head, limits, wished)
    return TableStream(columns, read_ahead(_batches(Rewound(head, body), columns, whole, wished)))


def _open(
    source: io.BytesIO | pa.PythonFile,
    types: Mapping[str, pa.DataType] | None = None,
    columns: int = 2,
) -> pa.csv.CSVStreamingReader:
    # Wide tables in longer blocks: every column of every block has a price of its own.
    block = BLOCK_BYTES * min(max(1, columns // WIDE), LONGEST_BLOCK)
    return pa.csv.open_csv(
        source,
        # One thread: Arrow then knows the row in which something is wrong.
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=block),
        # In a table of one column an empty line is a missing cell.
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=columns > 1),
        convert_options=pa.csv.ConvertOptions(
            column_types=types, null_values=MISSING_NUMBERS, strings_can_be_null=False
        ),
    )


def _columns(
    head: bytes, limits: Limits, wished: Mapping[str, Storage]
) -> tuple[tuple[TableColumn, ...], frozenset[str]]:
    """The columns by the first block, and the names of those that hold integers there."""
    names: list[str] = []
    try:
        guess = _open(io.BytesIO(head))
        names = guess.schema.names
        checked_names(names, limits)
        guessed = next(iter(guess), None)
        as_written = dict.fromkeys(names, ARROW_TYPE[Storage.TEXT])
        written = next(iter(_open(io.BytesIO(head), as_written)), None)
    except UnicodeDecodeError:
        raise InvalidTable("The column names are not valid UTF-8") from None
    except pa.ArrowInvalid as error:
        raise _told(error, names, wished) from None
    if guessed is None or written is None or written.num_rows == 0:
        raise InvalidTable("The table has column names and no rows")
    columns = []
    whole = set()
    for name, values, texts in zip(names, guessed.columns, written.columns, strict=True):
        storage = wished.get(name) or _storage(values, texts)
        columns.append(TableColumn(name, storage, empty=pa.types.is_null(values.type)))
        if pa.types.is_integer(values.type):
            whole.add(name)
    return tuple(columns), frozenset(whole)


def _storage(values: pa.Array, texts: pa.Array) -> Storage:
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return Storage.TEXT
    codes = texts.filter(pc.match_substring_regex(texts, CODE))
    if len(codes) == 0:
        return Storage.NUMBER
    try:
        numbers = codes.cast(pa.int64())
    except pa.ArrowInvalid:  # beyond even 64 bits
        return Storage.TEXT
    zeros = pc.any(pc.match_substring_regex(codes, r"^[+-]?0")).as_py()
    return Storage.TEXT if zeros or first_inexact(numbers) is not None else Storage.NUMBER


def _batches(
    body: Rewound,
    columns: tuple[TableColumn, ...],
    whole: frozenset[str],
    wished: Mapping[str, Storage],
) -> Iterator[pa.RecordBatch]:
    types = {column.name: ARROW_TYPE[column.storage] for column in columns}
    first_row = 1
    try:
        for batch in _open(pa.PythonFile(body, mode="r"), types, len(columns)):
            yield pa.RecordBatch.from_arrays(
                [
                    _checked(values, column, first_row, whole)
                    for values, column in zip(batch.columns, columns, strict=True)
                ],
                schema=batch.schema,
            )
            first_row += batch.num_rows
    except pa.ArrowException as error:
        raise _told(error, [column.name for column in columns], wished) from None


def _checked(
    values: pa.Array, column: TableColumn, first_row: int, whole: frozenset[str]
) -> pa.Array:
    if column.storage is Storage.TEXT:
        return without_empty(values)
    refuse_not_finite(values, column.name, first_row)
    if column.name in whole and (at := first_inexact(values)) is not None:
        raise inexact(column.name, first_row + at)
    return values


def _told(error: pa.ArrowException, names: list[str], wished: Mapping[str, Storage]) -> DomainError:
    """Arrow's complaint without the value that it quotes."""
    text = str(error)
    if ragged := RAGGED.match(text):
        row = int(ragged[1]) - HEADER_ROWS
        return InvalidTable(
            f"Row {row} has {ragged[3]} fields where the column names are {ragged[2]}", row=row
        )
    if conversion := CONVERSION.match(text):
        position = int(conversion[1])
        name = names[position] if names else f"#{position + 1}"
        row = int(conversion[2]) - HEADER_ROWS
        if conversion[3] == "double":
            return not_a_number(name, row, wished=name in wished)
        return InvalidTable(
            f"Column {name!r} is not valid UTF-8 in row {row}", column=name, row=row
        )
    if "straddl" in text:
        return InvalidTable(
            f"A row is longer than {BLOCK_BYTES} bytes, or a quote is never closed",
            limit_bytes=BLOCK_BYTES,
        )
    return InvalidTable("The body is not well-formed CSV")
