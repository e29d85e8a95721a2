"""A table in any format that is read, as a stream of batches or as a whole; without what its sender calls missing.

A row that sums up the others, or a note below them, is refused: such are records of nobody, and outliers in every column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidTable, TooLarge
from app.model import BLOCK_ROWS, Limits, Storage
from app.tables.bodies.encoding import (
    ByteStream,
    CountedStream,
    DecompressedStream,
    PeekedStream,
    read_fully,
    refuse_swollen,
    unpacked,
)
from app.tables.dialect.spelling import is_total
from app.tables.formats.archive import archived, counted, whole_archive
from app.tables.formats.arrow import read_arrow, read_arrow_file
from app.tables.formats.csv import read_csv
from app.tables.formats.excel import read_workbook
from app.tables.formats.json import read_json
from app.tables.formats.parquet import read_parquet
from app.tables.formats.statistics_files import read_statistics_file
from app.tables.media import (
    ENOUGH_BYTES,
    FileFormat,
    declared_format,
    detected_format,
    with_content_type,
)
from app.tables.stream import AUTOMATIC, DetectedFormat, ReadOptions, TableStream
from app.tables.values.cells import marked_schema
from app.tables.values.dates import dated_table

WHOLE_BYTES = 2**30
"""The largest table that is held as a whole."""

NO_WISHES: Mapping[str, Storage] = {}

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


def read_batches(
    body: ByteStream,
    content_type: str | None,
    content_encoding: str | None,
    limits: Limits,
    spool_folder: Path,
    *,
    wished: Mapping[str, Storage] = NO_WISHES,
    wishes: ReadOptions = AUTOMATIC,
    look: Callable[[], object] = lambda: None,
) -> TableStream:
    """The table in `body`, in memory that does not grow with it; `look` is called at each batch, and may end it.

    `wished` names columns whose storage the caller settled: they are read as that whatever their
    first values look like. `wishes` settles how the text is read; the rest is found out, and said
    in the stream's `read_as`. Fails with UnsupportedMediaType, TooLarge, InvalidTable, or
    InvalidParameter for a wish that the values do not bear out; rows in errors count from 1, the
    first below the column names. What is wrong far down is found when the stream gets there.
    """
    said = declared_format(content_type)
    wishes = with_content_type(content_type, wishes)
    wire = CountedStream(body, limits.upload_bytes)
    plain = unpacked(wire, content_encoding, limits.upload_bytes)
    stream = _read(plain, said, limits, spool_folder, wished, wishes)
    stream = replace(stream, batches=_bounded(stream, wire, limits, look))
    stream = replace(stream, read_as=replace(stream.read_as, missing=wishes.missing))
    return without_summary(with_missing(stream, wishes.missing))


def _bounded(
    stream: TableStream, wire: CountedStream, limits: Limits, look: Callable[[], object]
) -> Iterator[pa.RecordBatch]:
    """The batches as long as they take no more than `RATIO` times the bytes that came, whatever the format."""
    size = 0
    try:
        for batch in stream.batches:
            look()
            size += batch.nbytes
            refuse_swollen(size, wire.count, limits.upload_bytes)
            yield batch
    finally:
        stream.close()


def _read(
    body: CountedStream,
    said: FileFormat | None,
    limits: Limits,
    spool_folder: Path,
    wished: Mapping[str, Storage],
    wishes: ReadOptions,
    *,
    packed: bool = False,
) -> TableStream:
    head = read_fully(body, ENOUGH_BYTES)
    rewound = CountedStream(PeekedStream(head, body), limits.upload_bytes)
    source = detected_format(head) or said or _text_format(head)
    match source:
        case FileFormat.CSV:
            stream = read_csv(rewound, limits, wished, wishes)
        case FileFormat.JSON:
            stream = _named(read_json(rewound, limits, wished), source)
        case FileFormat.PARQUET:
            stream = _named(read_parquet(rewound, limits, wished, spool_folder), source)
        case FileFormat.ARROW:
            stream = _named(read_arrow(rewound, limits, wished), source)
        case FileFormat.ARROW_FILE:
            stream = _named(read_arrow_file(rewound, limits, wished), source)
        case FileFormat.STATA | FileFormat.SPSS | FileFormat.SAS | FileFormat.SAS_TRANSPORT:
            stream = read_statistics_file(whole_archive(rewound), source, limits, wished)
        case FileFormat.XLS:
            stream = read_workbook(
                whole_archive(rewound), source, limits, wished, wishes, spool_folder
            )
        case _ if packed:
            raise InvalidTable(
                "The body is packed more than once: what comes out of it is an archive or packed again, as a "
                "workbook (xlsx, ods) is. Unpack it once and send what is in it."
            )
        case FileFormat.GZIP | FileFormat.ZSTD:
            plain = DecompressedStream(rewound, str(source), limits.upload_bytes, said=False)
            inner = CountedStream(plain, limits.upload_bytes, "body, unpacked,")
            stream = _read(inner, None, limits, spool_folder, wished, wishes, packed=True)
        case _:
            kind, content = archived(whole_archive(rewound))
            if kind is FileFormat.ZIP:
                inner = counted(content, limits.upload_bytes)
                stream = _read(inner, None, limits, spool_folder, wished, wishes, packed=True)
            else:
                stream = read_workbook(content, kind, limits, wished, wishes, spool_folder)
    return stream


def _text_format(head: bytes) -> FileFormat:
    """JSON begins with a brace, which no column is likely to be called."""
    return FileFormat.JSON if head.lstrip()[:1] == b"{" else FileFormat.CSV


def _named(stream: TableStream, source: FileFormat) -> TableStream:
    return replace(stream, read_as=DetectedFormat(format=str(source)))


def read_table(
    body: ByteStream,
    content_type: str | None,
    content_encoding: str | None,
    limits: Limits,
    spool_folder: Path,
    *,
    wishes: ReadOptions = AUTOMATIC,
    look: Callable[[], object] = lambda: None,
) -> pa.Table:
    """The whole table in `body`, of at most `limits.stateless_rows` rows; fails as `read_batches`."""
    with read_batches(
        body, content_type, content_encoding, limits, spool_folder, wishes=wishes, look=look
    ) as stream:
        batches, rows, size = [], 0, 0
        for batch in stream.batches:
            rows += batch.num_rows
            size += batch.nbytes
            if size > WHOLE_BYTES:
                raise TooLarge(
                    f"The table takes more than {WHOLE_BYTES} bytes of memory; register it as a "
                    "data set instead",
                    limit_bytes=WHOLE_BYTES,
                )
            if rows > limits.stateless_rows:
                raise TooLarge(
                    f"The table has more than {limits.stateless_rows} rows; register it as a data "
                    "set instead",
                    limit_rows=limits.stateless_rows,
                )
            batches.append(batch)
        schema = marked_schema(stream)
        table = pa.Table.from_batches(batches, stream.schema).cast(schema)
        return dated_table(table, wishes.dates)


def with_missing(stream: TableStream, tokens: tuple[str, ...]) -> TableStream:
    """The stream with each cell that is one of `tokens` missing; -999 is also the number."""
    if not tokens:
        return stream
    texts = pa.array(tokens, pa.large_string())
    numbers = pa.array(list(_numbers(tokens)), pa.float64())
    return replace(stream, batches=_without(stream, texts, numbers))


def _numbers(tokens: tuple[str, ...]) -> Iterator[float]:
    for token in tokens:
        try:
            yield float(token)
        except ValueError:
            continue


def _without(stream: TableStream, texts: pa.Array, numbers: pa.Array) -> Iterator[pa.RecordBatch]:
    try:
        for batch in stream.batches:
            arrays = [_cells(values, texts, numbers) for values in batch.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
    finally:
        stream.close()


def _cells(values: pa.Array, texts: pa.Array, numbers: pa.Array) -> pa.Array:
    number = pa.types.is_floating(values.type)
    said = pc.is_in(values, numbers) if number else pc.is_in(pc.utf8_trim_whitespace(values), texts)
    if not pc.any(said).as_py():
        return values
    return pc.if_else(said, pa.scalar(None, values.type), values)


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
