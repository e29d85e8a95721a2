"""CSV parser: encoding, dialect and columns from the first blocks, then one pass in bounded memory.

A column whose first block holds numbers is read as doubles, any other as text, exactly as written; one that holds
nearly only numbers is refused. A missing cell is an empty field, in a number column also one of `MISSING_NUMBERS`.
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
from app.tables.bodies.streams import (
    ByteStream,
    PeekedStream,
    Utf8Stream,
    read_fully,
)
from app.tables.dialect.charset import UTF8, Charset, detect_charset
from app.tables.dialect.csv_dialect import CsvDialect, column_names, detect_dialect
from app.tables.dialect.number_syntax import MISSING_NUMBERS
from app.tables.formats.csv_columns import CsvColumn, csv_columns, numbers_of
from app.tables.stream import (
    ARROW_TYPE,
    Decimal,
    DetectedFormat,
    Header,
    ReadOptions,
    TableStream,
    prefetched,
)
from app.tables.values.normalisation import (
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
HEAD_BYTES = HEAD_BLOCKS * BLOCK_BYTES + 1
"""What is read before the rows are: the block that tells the columns is no longer."""

CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+)")
RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True)
class CsvText:
    """A CSV in UTF-8, with its first blocks and its dialect.

    where:
        head  the first blocks, and one byte that tells whether more follows: Arrow takes the end of what it is given
              for the end of the last row, so a row that the head cuts in two must not be parsed from it
    """

    head: bytes
    rest: ByteStream
    dialect: CsvDialect

    @property
    def header_rows(self) -> int:
        return 1 if self.dialect.header is Header.PRESENT else 0


@dataclass(frozen=True)
class CsvSchema:
    """Columns of a CSV by its first block.

    where:
        names  what the file calls its columns, blanks and all; None where it names none
    """

    text: CsvText
    names: tuple[str, ...] | None
    columns: tuple[CsvColumn, ...]
    decimal: Decimal
    options: ReadOptions


def decode(body: ByteStream, options: ReadOptions) -> tuple[Charset, bytes, ByteStream]:
    """Return the encoding of a text, its first blocks in UTF-8 and the rest."""
    head = read_fully(body, HEAD_BYTES)
    charset = detect_charset(head, options.encoding)
    if charset.mark or charset.name != UTF8:
        body = PeekedStream(head[charset.mark :], body)
        if charset.name != UTF8:
            body = Utf8Stream(body, charset.name)
        head = read_fully(body, HEAD_BYTES)
    if not head.strip():
        raise InvalidTable("The body is empty")
    return charset, head, body


def with_dialect(head: bytes, body: ByteStream, options: ReadOptions) -> CsvText:
    """Return the text with its dialect, without the line by which Excel is told the delimiter."""
    dialect = detect_dialect(head, options, cut=_is_cut(head))
    if dialect.skipped:
        body = PeekedStream(head[dialect.skipped :], body)
        head = read_fully(body, HEAD_BYTES)
    return CsvText(head, body, dialect)


def parse_csv(
    text: CsvText, limits: Limits, options: ReadOptions, read_as: DetectedFormat
) -> TableStream:
    """Return the table of a CSV: its columns by the first block, then its rows in bounded memory."""
    schema = _schema(text, limits, options)
    read_as = replace(
        read_as,
        delimiter=text.dialect.delimiter,
        decimal=schema.decimal,
        header=text.dialect.header,
    )
    batches = prefetched(_batches(PeekedStream(text.head, text.rest), schema))
    return TableStream(schema.columns, batches, read_as=read_as)


def _is_cut(head: bytes) -> bool:
    return len(head) == HEAD_BYTES


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


def _schema(text: CsvText, limits: Limits, options: ReadOptions) -> CsvSchema:
    """The columns by the first block."""
    head, dialect = text.head, text.dialect
    absent = dialect.header is Header.ABSENT
    found: list[str] = []
    try:
        found = _open(io.BytesIO(head), dialect, None).schema.names
        names = column_names(len(found)) if absent else [name.strip() for name in found]
        checked_names(names, limits)
        _refuse_endless(text)
        reader = _open(
            io.BytesIO(head),
            dialect,
            names if absent else None,
            types=dict.fromkeys(names if absent else found, ARROW_TYPE[Storage.TEXT]),
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
        columns = tuple(CsvColumn(name.strip(), Storage.TEXT) for name in found)
        unknown = CsvSchema(text, None, columns, Decimal.POINT, options)
        raise _translated(error, unknown, odd_quotes=odd) from None
    if written is None:
        raise InvalidTable("The table has column names and no rows")
    if len(names) == 1 and options.delimiter is None:
        _refuse_hidden_columns(names[0], written.column(0))
    if any(pc.any(pc.match_substring(c, "\0")).as_py() for c in written.columns):
        raise InvalidTable("The text holds bytes 0, which no text has; save the table anew as CSV.")
    cells = [pc.utf8_ltrim_whitespace(c) if dialect.spaced else c for c in written.columns]
    columns, decimal = csv_columns(names, cells, options)
    return CsvSchema(text, None if absent else tuple(found), columns, decimal, options)


def _refuse_endless(text: CsvText) -> None:
    """InvalidTable when not even the first row ends within the head."""
    if not _is_cut(text.head):
        return
    lines = io.StringIO(text.head.decode(errors="replace"), newline="")
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


def _batches(body: PeekedStream, schema: CsvSchema) -> Iterator[pa.RecordBatch]:
    names = [column.name for column in schema.columns]
    types = [
        ARROW_TYPE[Storage.TEXT if column.marked else column.storage] for column in schema.columns
    ]
    first_row = 1
    last: pa.RecordBatch | None = None
    try:
        reader = _open(
            pa.PythonFile(body, mode="r"),
            schema.text.dialect,
            names if schema.names is None else None,
            types=dict(zip(schema.names or names, types, strict=True)),
            columns=len(names),
            decimal=schema.decimal,
            missing=schema.options.missing,
        )
        for batch in reader:
            arrays = [
                _checked(values, column, schema, first_row)
                for values, column in zip(batch.columns, schema.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=names)
            first_row += batch.num_rows
            last = batch if batch.num_rows else last
    except pa.ArrowException as error:
        odd = body.ended and body.quotes % 2 == 1
        raise _translated(error, schema, first_row, odd_quotes=odd) from None
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


def _checked(values: pa.Array, column: CsvColumn, schema: CsvSchema, first_row: int) -> pa.Array:
    if column.marked:
        return numbers_of(values, column, schema.decimal, schema.options.missing, first_row)
    if column.storage is Storage.TEXT:
        return without_empty(
            pc.utf8_ltrim_whitespace(values) if schema.text.dialect.spaced else values
        )
    refuse_not_finite(values, column.name, first_row)
    if column.whole and (at := first_inexact(values)) is not None:
        raise inexact(column.name, first_row + at)
    return values


def _translated(
    error: pa.ArrowException, schema: CsvSchema, first_row: int = 1, *, odd_quotes: bool = False
) -> DomainError:
    """Arrow's error as one without values; the rows before `first_row` were read."""
    complaint = str(error)
    if ragged := RAGGED.match(complaint):
        row = int(ragged[1]) - schema.text.header_rows
        return _ragged(row, int(ragged[3]), int(ragged[2]), odd_quotes=odd_quotes)
    if conversion := CONVERSION.match(complaint):
        position = int(conversion[1])
        columns = schema.columns
        name = columns[position].name if columns else f"#{position + 1}"
        row = int(conversion[2]) - schema.text.header_rows
        if conversion[3] == "double":
            return not_a_number(name, row, overridden=name in schema.options.storage)
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
