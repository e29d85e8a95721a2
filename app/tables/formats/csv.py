"""CSV in: dialect and types from the first block, then one pass in bounded memory.

Missing is an empty field; in a number column also one of `MISSING_NUMBERS`. A column whose first
block holds numbers is read as doubles, any other as text, exactly as written; one that holds nearly
only numbers is refused. Integers with leading zeros or beyond 2⁵³ are codes and stay text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from app.errors import DomainError, InvalidTable
from app.model import Limits, Storage
from app.tables.bodies.encoding import (
    UTF8,
    ByteStream,
    PeekedStream,
    Utf8Stream,
    detect_charset,
    read_fully,
)
from app.tables.dialect.records import CsvDialect, column_names, detect_dialect
from app.tables.dialect.spelling import MISSING_NUMBERS
from app.tables.formats.csv_columns import CsvColumn, csv_columns, numbers_of
from app.tables.stream import (
    ARROW_TYPE,
    AUTOMATIC,
    Decimal,
    DetectedFormat,
    Header,
    ReadOptions,
    TableColumn,
    TableStream,
    prefetched,
)
from app.tables.values.cells import (
    checked_names,
    first_inexact,
    inexact,
    not_a_number,
    refuse_not_finite,
    without_empty,
)

BLOCK_BYTES = 2**20
"""What is parsed at a time at least: every row that is no longer than this is read."""

WIDE, LONGEST_BLOCK = 64, 16
"""Columns for which a block is one unit of `BLOCK_BYTES` longer, and most units of a block."""

HEAD_BLOCKS = 2
"""Units that are looked at before the rows are read: the block that tells the columns is no longer."""

CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+)")
RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True)
class CsvSchema:
    """All that is known of a text before its rows are read.

    where:
        names  what the file calls its columns, blanks and all; None where it names none
    """

    dialect: CsvDialect
    names: tuple[str, ...] | None
    columns: tuple[CsvColumn, ...]
    decimal: Decimal
    missing: tuple[str, ...]
    wished: Mapping[str, Storage]

    @property
    def header_rows(self) -> int:
        return 1 if self.dialect.header is Header.PRESENT else 0


def read_csv(
    body: ByteStream,
    limits: Limits,
    wished: Mapping[str, Storage],
    wishes: ReadOptions = AUTOMATIC,
    format_: str = "csv",
) -> TableStream:
    """The table in the CSV text of `body`."""
    head = _head(body)
    charset = detect_charset(head, wishes.encoding)
    if charset.mark or charset.name != UTF8:
        body = PeekedStream(head[charset.mark :], body)
        if charset.name != UTF8:
            body = Utf8Stream(body, charset.name)
        head = _head(body)
    if not head.strip():
        raise InvalidTable("The body is empty")
    dialect = detect_dialect(head, wishes, cut=_is_cut(head))
    if dialect.skipped:
        body = PeekedStream(head[dialect.skipped :], body)
        head = _head(body)
    text = _text(head, dialect, limits, wished, wishes)
    columns = tuple(
        TableColumn(
            column.name,
            column.storage,
            column.empty,
            column.note,
            whole=column.whole,
            unit=column.unit,
        )
        for column in text.columns
    )
    read_as = DetectedFormat(
        format=format_,
        encoding=charset.name,
        delimiter=dialect.delimiter,
        decimal=text.decimal,
        header=dialect.header,
    )
    batches = prefetched(_batches(PeekedStream(head, body), text))
    return TableStream(columns, batches, read_as=read_as)


def _head(body: ByteStream) -> bytes:
    """The first blocks, and one byte that tells whether more follows.

    Arrow takes the end of what it is given for the end of the last row. That byte stands in a block
    of its own, so that a row which the head cuts in two is never among those of the blocks before.
    """
    return read_fully(body, HEAD_BLOCKS * BLOCK_BYTES + 1)


def _is_cut(head: bytes) -> bool:
    return len(head) > HEAD_BLOCKS * BLOCK_BYTES


def _open(
    source: io.BytesIO | pa.PythonFile,
    dialect: CsvDialect,
    names: list[str] | None,
    *,
    types: Mapping[str, pa.DataType] | None = None,
    columns: int = 2,
    most: int = LONGEST_BLOCK,
    decimal: Decimal = Decimal.POINT,
    missing: tuple[str, ...] = (),
) -> pa.csv.CSVStreamingReader:
    # Wide tables in longer blocks: every column of every block has a price of its own.
    block = BLOCK_BYTES * min(max(1, columns // WIDE), most)
    absent = {*MISSING_NUMBERS, *missing}
    if dialect.spaced:
        absent |= {f" {token}" for token in absent}
    return pa.csv.open_csv(
        source,
        # One thread: Arrow then knows the row in which something is wrong.
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=block, column_names=names),
        # In a table of one column an empty line is a missing cell.
        parse_options=pa.csv.ParseOptions(
            delimiter=dialect.delimiter, newlines_in_values=True, ignore_empty_lines=columns > 1
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types=types,
            null_values=sorted(absent),
            strings_can_be_null=False,
            decimal_point=decimal.sign,
        ),
    )


def _text(
    head: bytes,
    dialect: CsvDialect,
    limits: Limits,
    wished: Mapping[str, Storage],
    wishes: ReadOptions,
) -> CsvSchema:
    """The columns by the first block."""
    unknown = CsvSchema(dialect, None, (), Decimal.POINT, wishes.missing, wished)
    found: list[str] = []
    try:
        absent = dialect.header is Header.ABSENT
        found = _open(io.BytesIO(head), dialect, None).schema.names
        names = column_names(len(found)) if absent else [name.strip() for name in found]
        checked_names(names, limits)
        _refuse_endless(head, unknown)
        texts = dict.fromkeys(names if absent else found, ARROW_TYPE[Storage.TEXT])
        reader = _open(
            io.BytesIO(head),
            dialect,
            names if absent else None,
            types=texts,
            columns=len(names),
            most=HEAD_BLOCKS,
        )
        written = next((batch for batch in reader if batch.num_rows), None)
    except UnicodeDecodeError:
        raise InvalidTable(
            "The column names are not valid UTF-8; name the encoding with the parameter `encoding`."
        ) from None
    except pa.ArrowInvalid as error:
        odd = not _is_cut(head) and head.count(b'"') % 2 == 1
        raise _told(error, replace(unknown, columns=_unread(found)), odd_quotes=odd) from None
    if written is None:
        raise InvalidTable("The table has column names and no rows")
    if len(names) == 1 and wishes.delimiter is None:
        _refuse_hidden_columns(names[0], written.column(0))
    if any(pc.any(pc.match_substring(c, "\0")).as_py() for c in written.columns):
        raise InvalidTable("The text holds bytes 0, which no text has; save the table anew as CSV.")
    cells = [pc.utf8_ltrim_whitespace(c) if dialect.spaced else c for c in written.columns]
    columns, decimal = csv_columns(names, cells, wished, wishes.decimal, wishes.missing)
    return replace(
        unknown, names=None if absent else tuple(found), columns=columns, decimal=decimal
    )


def _refuse_endless(head: bytes, text: CsvSchema) -> None:
    """InvalidTable when not even the first row ends within the head."""
    if not _is_cut(head):
        return
    lines = io.StringIO(head.decode(errors="replace"), newline="")
    records = csv.reader(lines, delimiter=text.dialect.delimiter)
    found = islice((record for record in records if record), text.header_rows + 1)
    if len(list(found)) <= text.header_rows or not lines.read(1):
        raise _too_long(1)


def _refuse_hidden_columns(name: str, cells: pa.Array) -> None:
    """InvalidTable for one column that holds several: by blanks, or by what its name has too."""
    for mark, said in ((r"\S {2,}\S", "blanks"), (";", ";"), (r"\t", "tabs"), (r"\|", "|")):
        if re.search(mark, name) and pc.all(pc.match_substring_regex(cells, mark)).as_py():
            raise InvalidTable(
                f"The table has one column, whose name and cells hold several parts with {said} between"
                " them. Say what separates them with the parameter `delimiter`; columns of a fixed width"
                " are not read.",
                parameter="delimiter",
            )


def _unread(names: list[str]) -> tuple[CsvColumn, ...]:
    return tuple(CsvColumn(name.strip(), Storage.TEXT) for name in names)


def _batches(body: PeekedStream, text: CsvSchema) -> Iterator[pa.RecordBatch]:
    names = [column.name for column in text.columns]
    types = [
        ARROW_TYPE[Storage.TEXT if column.marked else column.storage] for column in text.columns
    ]
    first_row = 1
    last: pa.RecordBatch | None = None
    try:
        reader = _open(
            pa.PythonFile(body, mode="r"),
            text.dialect,
            names if text.names is None else None,
            types=dict(zip(text.names or names, types, strict=True)),
            columns=len(names),
            decimal=text.decimal,
            missing=text.missing,
        )
        for batch in reader:
            arrays = [
                _checked(values, column, text, first_row)
                for values, column in zip(batch.columns, text.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=names)
            first_row += batch.num_rows
            last = batch if batch.num_rows else last
    except pa.ArrowException as error:
        odd = body.ended and body.quotes % 2 == 1
        raise _told(error, text, first_row, odd_quotes=odd) from None
    if last is not None:
        _refuse_open_quote(last, body, first_row - 1)


def _refuse_open_quote(batch: pa.RecordBatch, body: PeekedStream, row: int) -> None:
    """InvalidTable when the last cell goes on to the end of the text: its quote was never closed.

    A quote inside a text without quotes is a character, so an odd number of them alone is no fault.
    """
    if body.quotes % 2 == 0:
        return
    cell = batch.column(batch.num_columns - 1)[-1].as_py()
    if isinstance(cell, str) and cell.endswith(("\n", "\r")):
        raise InvalidTable(
            f"A quote is opened in row {row} and never closed: the rest of the text is one cell. Close"
            " it, or double quotes that are part of a text.",
            row=row,
        )


def _checked(values: pa.Array, column: CsvColumn, text: CsvSchema, first_row: int) -> pa.Array:
    if column.marked:
        return numbers_of(values, column, text.decimal, text.missing, first_row)
    if column.storage is Storage.TEXT:
        return without_empty(pc.utf8_ltrim_whitespace(values) if text.dialect.spaced else values)
    refuse_not_finite(values, column.name, first_row)
    if column.whole and (at := first_inexact(values)) is not None:
        raise inexact(column.name, first_row + at)
    return values


def _told(
    error: pa.ArrowException, text: CsvSchema, first_row: int = 1, *, odd_quotes: bool = False
) -> DomainError:
    """Arrow's complaint without the value that it quotes, when the rows before `first_row` are read."""
    complaint = str(error)
    if ragged := RAGGED.match(complaint):
        row = int(ragged[1]) - text.header_rows
        return _ragged(row, int(ragged[3]), int(ragged[2]), odd_quotes=odd_quotes)
    if conversion := CONVERSION.match(complaint):
        position = int(conversion[1])
        columns = text.columns
        name = columns[position].name if columns else f"#{position + 1}"
        row = int(conversion[2]) - text.header_rows
        if conversion[3] == "double":
            return not_a_number(name, row, wished=name in text.wished)
        return InvalidTable(
            f"Column {name!r} is not valid UTF-8 in row {row}; name the encoding of the text with "
            "the parameter `encoding`.",
            column=name,
            row=row,
        )
    if "straddl" in complaint:
        return _too_long(first_row)
    if "cannot infer" in complaint:
        return InvalidTable(
            f"The line of column names does not end within {BLOCK_BYTES} bytes, or a quote is opened in it "
            "that is never closed: close it, or double quotes that are part of a name.",
            limit_bytes=BLOCK_BYTES,
        )
    return InvalidTable("The body is not well-formed CSV")


def _ragged(row: int, fields: int, columns: int, *, odd_quotes: bool) -> InvalidTable:
    """A quote that is never closed makes the rest of the text one cell, and its row too short."""
    remedy = (
        ", and the text has an odd number of quotes: one that is opened in this row is probably never "
        "closed, which makes all below it one cell. Close it, or double quotes that are part of a text."
        if odd_quotes and fields < columns
        else "; put fields that hold the delimiter into quotes, leave out lines that are no rows, or name "
        "the delimiter with the parameter `delimiter`."
    )
    return InvalidTable(
        f"Row {row} has {fields} fields where the column names are {columns}{remedy}", row=row
    )


def _too_long(row: int) -> InvalidTable:
    return InvalidTable(
        f"Row {row} is longer than {BLOCK_BYTES} bytes, or a quote is opened in it that is never closed: "
        "close it, double quotes that are part of a text, or shorten the texts of the row.",
        row=row,
        limit_bytes=BLOCK_BYTES,
    )
