"""CSV parser: encoding, dialect and columns from the first blocks, then one pass in bounded memory.

Arrow parses every cell as text. A column whose first block holds numbers becomes doubles, any other stays text, exactly
as written; every later block is checked against that decision. A missing cell is an empty field, in a number column also
one of `MISSING_NUMBERS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from app.errors import DomainError, InvalidTable, raise_problems
from app.model import Limits, Notice, Storage
from app.tables.bodies.streams import ByteStream, PeekedStream, Utf8Stream, read_fully
from app.tables.dialect.charset import UTF8, Charset, detect_charset
from app.tables.dialect.csv_dialect import CsvDialect, detect_dialect
from app.tables.formats.csv_columns import column_readers
from app.tables.stream import (
    ARROW_TYPE,
    DetectedFormat,
    ReadOptions,
    TableStream,
    named_rows,
    prefetched,
    row_number,
)
from app.tables.values.normalisation import refuse_many_columns

BLOCK_BYTES = 2**20
"""What is parsed at a time at least: every row that is no longer than this is read."""

WIDE, LONGEST_BLOCK = 64, 16
"""Columns for which a block is one unit of `BLOCK_BYTES` longer, and most units of a block."""

HEAD_BYTES = 2 * BLOCK_BYTES + 1
"""What is read before the rows are, to detect encoding and dialect."""

MOST_RAGGED = 100
"""Rows with too few or too many fields, beyond which the delimiter is wrong rather than the rows."""

NO_ROWS = "The table has column names and no rows"
INVALID_TEXT = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error")


@dataclass(frozen=True)
class CsvText:
    """A CSV in UTF-8 from its first row of cells on, with its dialect."""

    rows: PeekedStream
    dialect: CsvDialect


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
    if b"\0" in head:
        raise InvalidTable("The text holds bytes 0, which no text has; save the table anew as CSV.")
    return charset, head, body


def with_dialect(head: bytes, body: ByteStream, options: ReadOptions) -> CsvText:
    """Return the text with its dialect, without Excel's `sep=` line, titles and column names."""
    dialect = detect_dialect(head, options, cut=len(head) == HEAD_BYTES)
    return CsvText(PeekedStream(head[dialect.skipped :], body), dialect)


def parse_csv(
    text: CsvText, limits: Limits, options: ReadOptions, read_as: DetectedFormat
) -> TableStream:
    """Return the table of a CSV: its columns by the first block, then its rows in bounded memory."""
    dialect = text.dialect
    names = dialect.names
    refuse_many_columns(len(names), limits)
    notices = [*dialect.notices]
    records = Records(text, options.skip_rows)
    rows = records.batches()
    first = next(rows, None)
    if first is None:
        raise_problems(records.problems)
        raise InvalidTable(NO_ROWS)
    if len(names) == 1 and options.delimiter is None:
        _refuse_hidden_columns("".join(dialect.written), first.column(0))
    problems: list[DomainError] = records.problems
    readers, sign = column_readers(names, first.columns, options, problems)
    read_as = replace(
        read_as, delimiter=dialect.delimiter, decimal=sign.sign, header=dialect.header
    )

    def parsed() -> Iterator[pa.RecordBatch]:
        position = 0
        for batch in chain([first], rows):
            arrays = [
                reader.read(values, records.row_number, position)
                for values, reader in zip(batch.columns, readers, strict=True)
            ]
            position += batch.num_rows
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))
        notices.extend(records.notices())

    return TableStream(
        tuple(reader.column for reader in readers),
        prefetched(parsed()),
        read_as=read_as,
        notices=notices,
        problems=problems,
        left_out=records.left_out,
    )


@dataclass
class Records:
    """The rows of a CSV as texts: without those that are left out, and with the row of what is wrong.

    where:
        left_out  numbers of rows that Arrow gives, or refuses, and that are not rows of the table
    """

    text: CsvText
    skipped: tuple[int, ...]
    left_out: list[int] = field(default_factory=list)
    problems: list[DomainError] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    _ragged: dict[int, int] = field(default_factory=dict)

    def row_number(self, position: int) -> int:
        """The row of the file that is the table's row at a position, which counts from 0."""
        return row_number(position, self.left_out)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches, missing cells as null."""
        body, last, given = self.text.rows, None, 0
        try:
            for batch in self._reader(body):
                numbers, given = self._numbers(given, batch.num_rows), given + batch.num_rows
                kept = self._kept(batch, numbers)
                if kept.num_rows:
                    last = kept
                    yield kept
        except pa.ArrowException as error:
            odd = body.ended and body.quotes % 2 == 1
            raise self._translated(error, given, odd_quotes=odd) from None
        if last is not None:
            _refuse_open_quote(last, body, row_number(given - 1, [*self._ragged]))
        self._report_ragged(odd_quotes=body.quotes % 2 == 1)

    def notices(self) -> Iterator[Notice]:
        """Return notices on rows that were left out."""
        if self.repeated:
            yield Notice(
                "repeated-header",
                f"The column names are repeated in {named_rows(self.repeated)}, which were left out.",
            )

    def _reader(self, body: PeekedStream) -> pa.csv.CSVStreamingReader:
        dialect, names = self.text.dialect, self.text.dialect.names
        # Wide tables in longer blocks: every column of every block has a price of its own.
        block = BLOCK_BYTES * min(max(1, len(names) // WIDE), LONGEST_BLOCK)
        places = [f"c{place}" for place in range(len(names))]
        return pa.csv.open_csv(
            pa.PythonFile(body, mode="r"),
            # One thread: Arrow then knows the row in which something is wrong.
            read_options=pa.csv.ReadOptions(
                use_threads=False, block_size=block, column_names=places
            ),
            # In a table of one column an empty line is a missing cell.
            parse_options=pa.csv.ParseOptions(
                delimiter=dialect.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,
                invalid_row_handler=self._invalid_row,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(places, ARROW_TYPE[Storage.TEXT]),
                null_values=list(dialect.nulls),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _invalid_row(self, row: pa.csv.InvalidRow) -> str:
        if len(self._ragged) >= MOST_RAGGED:
            return "error"
        self._ragged[row.number] = row.actual_columns
        self.left_out.append(row.number)
        return "skip"

    def _numbers(self, given: int, rows: int) -> range | list[int]:
        """The rows of the file that the next `rows` that Arrow gives are."""
        if not self._ragged:
            return range(given + 1, given + 1 + rows)
        return [row_number(position, [*self._ragged]) for position in range(given, given + rows)]

    def _kept(self, batch: pa.RecordBatch, numbers: range | list[int]) -> pa.RecordBatch:
        """The batch without rows that repeat the column names, or that its sender leaves out."""
        if self.text.dialect.spaced:
            batch = pa.RecordBatch.from_arrays(
                [pc.utf8_ltrim_whitespace(cells) for cells in batch.columns],
                names=batch.schema.names,
            )
        out = [number for number in self.skipped if numbers[0] <= number <= numbers[-1]]
        header = self._header_rows(batch, numbers)
        self.repeated += header
        if not out and not header:
            return batch
        gone = {*out, *header}
        self.left_out += gone
        return batch.filter(pa.array([number not in gone for number in numbers]))

    def _header_rows(self, batch: pa.RecordBatch, numbers: range | list[int]) -> list[int]:
        """The rows that hold nothing but the column names."""
        written = self.text.dialect.written
        if len(written) < 2 or not any(written):
            return []
        same: pa.Array | None = None
        for cells, name in zip(batch.columns, written, strict=True):
            equal = pc.equal(cells, name)
            same = equal if same is None else pc.and_(same, equal)
            if not pc.any(same).as_py():
                return []
        return [numbers[at] for at in pc.indices_nonzero(same).to_pylist()]

    def _report_ragged(self, *, odd_quotes: bool) -> None:
        """Keep the rows with another number of fields as a problem, but for those that their sender leaves out."""
        rows = sorted(set(self._ragged).difference(self.skipped))
        if not rows:
            return
        width = len(self.text.dialect.names)
        fewer = all(self._ragged[row] < width for row in rows)
        fields = self._ragged[rows[0]]
        self.problems.append(_ragged(rows, fields, width, odd_quotes=odd_quotes, skippable=fewer))

    def _translated(self, error: pa.ArrowException, given: int, *, odd_quotes: bool) -> DomainError:
        """Arrow's error as one without values."""
        complaint = str(error)
        if self._ragged:
            rows = sorted(self._ragged)
            width = len(self.text.dialect.names)
            return _ragged(
                rows, self._ragged[rows[0]], width, odd_quotes=odd_quotes, skippable=False
            )
        if found := INVALID_TEXT.match(complaint):
            name, row = self.text.dialect.names[int(found[1])], int(found[2])
            return InvalidTable(
                f"Column {name!r} is not valid UTF-8 in row {row}; name the encoding of the text with "
                "the parameter `encoding`.",
                column=name,
                row=row,
                parameter="encoding",
            )
        if complaint == "Empty CSV file":
            return InvalidTable(NO_ROWS)
        if "straddl" in complaint:
            return too_long(given + 1)
        if "Empty CSV" in complaint:
            return InvalidTable(NO_ROWS)
        return InvalidTable("The body is not well-formed CSV")


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


def _ragged(
    rows: list[int], fields: int, columns: int, *, odd_quotes: bool, skippable: bool
) -> InvalidTable:
    """A quote that is never closed makes the rest of the text one cell, and its row too short."""
    unclosed = odd_quotes and fields < columns
    if unclosed:
        remedy = (
            ", and the text has an odd number of quotes: one that is opened in this row is probably never "
            "closed, which makes all below it one cell. Close it, or double quotes that are part of a text."
        )
    else:
        remedy = (
            "; put fields that hold the delimiter into quotes, leave out lines that are no rows with the "
            "parameter `skip_rows`, or name the delimiter with the parameter `delimiter`."
        )
    more = f", and so in {named_rows(rows[1:])}" if len(rows) > 1 else ""
    return InvalidTable(
        f"Row {rows[0]} has {fields} fields where the column names are {columns}{more}{remedy}",
        row=rows[0],
        rows=rows[:5] if len(rows) > 1 else None,
        parameters={"skip_rows": rows} if skippable and not unclosed else None,
    )


def too_long(row: int) -> InvalidTable:
    """The error for a row that is longer than a block."""
    return InvalidTable(
        f"Row {row} is longer than {BLOCK_BYTES} bytes, or a quote is opened in it that is never closed: "
        "close it, double quotes that are part of a text, or shorten the texts of the row.",
        row=row,
        limit_bytes=BLOCK_BYTES,
    )
