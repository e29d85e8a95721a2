"""Pipeline that reads a table: unpack, decode, detect the dialect, parse, normalise, infer columns.

Dates are recognised last, by `infer_columns` once rows were fingerprinted as they came, or by `read_table`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidTable, TooLarge, raise_problems
from app.model import ColumnOverrides, Limits
from app.tables.bodies.streams import (
    ByteStream,
    CountedStream,
    DecompressedStream,
    PeekedStream,
    decompressed,
    read_fully,
    refuse_swollen,
)
from app.tables.dialect.number_syntax import numbers_among
from app.tables.formats.archive import open_archive, refuse_protected, whole_archive
from app.tables.formats.arrow import parse_arrow
from app.tables.formats.csv import decode, parse_csv, with_dialect
from app.tables.formats.json import parse_json
from app.tables.formats.optional import OPTIONAL, parse_statistics, require_extra
from app.tables.formats.parquet import parse_parquet
from app.tables.formats.workbook import extract_sheet, with_sheet
from app.tables.media import (
    JSON_TEXT,
    SIGNATURE_BYTES,
    FileFormat,
    declared_format,
    detected_format,
    with_content_type,
)
from app.tables.stream import DetectedFormat, ReadOptions, TableStream
from app.tables.summary_rows import without_summary
from app.tables.values.dates import dated_table, with_dates
from app.tables.values.normalisation import marked_schema, normalised

WHOLE_BYTES = 2**30
"""The largest table that is held as a whole."""


@dataclass(frozen=True)
class TableSource:
    """The body of a table with its Content-Type and Content-Encoding."""

    body: ByteStream
    content_type: str | None = None
    content_encoding: str | None = None


def open_table(
    source: TableSource,
    options: ReadOptions,
    limits: Limits,
    spool_folder: Path,
    raise_if_cancelled: Callable[[], object] = lambda: None,
) -> TableStream:
    """Return the table of a source as a stream, in memory that does not grow with it.

    UnsupportedMediaType, TooLarge, InvalidTable, or InvalidParameter for an option that the values contradict. Rows in
    errors count from 1, the first below the column names. What is wrong far down is raised by the batches, which also
    call `raise_if_cancelled`.
    """
    options = with_content_type(source.content_type, options)
    received = CountedStream(source.body, limits.upload_bytes)
    body, file_format = _unpack(received, source, limits.upload_bytes)
    if file_format in OPTIONAL:
        require_extra(file_format)
    stream = _parse(body, file_format, options, limits, spool_folder)
    unpacked = 0

    def checked(batch: pa.RecordBatch) -> pa.RecordBatch:
        nonlocal unpacked
        raise_if_cancelled()
        unpacked += batch.nbytes
        refuse_swollen(unpacked, received.count, limits.upload_bytes)
        return batch

    read_as = replace(stream.read_as, missing=options.missing)
    stream = replace(stream.map(checked), read_as=read_as, date_order=options.dates)
    return _complete(without_summary(_with_missing(stream, options.missing)))


def _complete(stream: TableStream) -> TableStream:
    """The stream, which ends in all problems of its table."""

    def batches() -> Iterator[pa.RecordBatch]:
        with stream:
            yield from stream.batches
            raise_problems(stream.problems)

    return replace(stream, batches=batches())


def _unpack(
    received: CountedStream, source: TableSource, limit: int
) -> tuple[CountedStream, FileFormat]:
    """Return the body without its Content-Encoding, and unpacked once more where it is a packed file."""
    body = decompressed(received, source.content_encoding, limit)
    body, file_format = _with_format(body, declared_format(source.content_type), limit)
    match file_format:
        case FileFormat.GZIP | FileFormat.ZSTD:
            plain = DecompressedStream(body, str(file_format), limit, declared=False)
            body, file_format = _with_format(
                CountedStream(plain, limit, "body, unpacked,"), None, limit
            )
        case FileFormat.ZIP | FileFormat.XLSX | FileFormat.XLSB | FileFormat.ODS:
            file_format, content = open_archive(whole_archive(body))
            body = CountedStream(io.BytesIO(content), limit)
            if file_format is not FileFormat.ZIP:
                return body, file_format
            body, file_format = _with_format(body, None, limit)
    if file_format in (FileFormat.GZIP, FileFormat.ZSTD, FileFormat.ZIP):
        raise InvalidTable(
            "The body is packed more than once: what comes out of it is an archive or packed again, as a "
            "workbook (xlsx, ods) is. Unpack it once and send what is in it."
        )
    return body, file_format


def _with_format(
    body: CountedStream, declared: FileFormat | None, limit: int
) -> tuple[CountedStream, FileFormat]:
    """Return the body with the format that its first bytes show, else the declared one, else that of its text."""
    head = read_fully(body, SIGNATURE_BYTES)
    text = FileFormat.JSON if JSON_TEXT.match(head) else FileFormat.CSV
    return (
        CountedStream(PeekedStream(head, body), limit),
        detected_format(head) or declared or text,
    )


def _parse(
    body: CountedStream,
    file_format: FileFormat,
    options: ReadOptions,
    limits: Limits,
    spool_folder: Path,
) -> TableStream:
    """Return the rows of a body: of a text as its dialect has them, of a typed format normalised."""
    read_as = DetectedFormat(str(file_format))
    match file_format:
        case FileFormat.CSV:
            return _parse_text(body, options, limits)
        case FileFormat.XLSX | FileFormat.XLSB | FileFormat.XLS | FileFormat.ODS:
            content = whole_archive(body)
            if file_format is FileFormat.XLS:
                refuse_protected(content)
            summary, sheet, options = extract_sheet(content, file_format, options, spool_folder)
            try:
                stream = with_sheet(_parse_text(sheet, options, limits), summary, file_format)
            except BaseException:
                sheet.close()
                raise
            return replace(stream, release=sheet.close)
        case FileFormat.JSON:
            batches = parse_json(body, limits)
        case FileFormat.PARQUET:
            batches = parse_parquet(body, limits, spool_folder)
        case FileFormat.ARROW | FileFormat.ARROW_FILE:
            batches = parse_arrow(body, limits, is_file=file_format is FileFormat.ARROW_FILE)
        case _:
            read_as, batches = parse_statistics(whole_archive(body), file_format, limits)
    return normalised(batches, read_as, limits, options)


def _parse_text(body: ByteStream, options: ReadOptions, limits: Limits) -> TableStream:
    """Return the rows of a text: decoded, its dialect detected, parsed."""
    charset, head, rest = decode(body, options)
    text = with_dialect(head, rest, options)
    return parse_csv(text, limits, options, DetectedFormat("csv", charset.name))


def _with_missing(stream: TableStream, tokens: tuple[str, ...]) -> TableStream:
    """Return the stream with each cell that is one of `tokens` missing; -999 is also the number."""
    if not tokens:
        return stream
    texts = pa.array(tokens, pa.large_string())
    numbers = pa.array(numbers_among(tokens), pa.float64())

    def cells(values: pa.Array) -> pa.Array:
        if pa.types.is_floating(values.type):
            missing = pc.is_in(values, numbers)
        else:
            missing = pc.is_in(pc.utf8_trim_whitespace(values), texts)
        return pc.if_else(missing, pa.scalar(None, values.type), values)

    return stream.map(
        lambda batch: pa.RecordBatch.from_arrays(
            [cells(values) for values in batch.columns], names=batch.schema.names
        )
    )


def infer_columns(stream: TableStream, overrides: Mapping[str, ColumnOverrides]) -> TableStream:
    """Return the stream with texts that are dates as days, unless the owner wants them otherwise."""
    kinds = {name: one.kind for name, one in overrides.items() if one.kind is not None}
    return with_dates(stream, kinds)


def read_table(
    source: TableSource,
    options: ReadOptions,
    limits: Limits,
    spool_folder: Path,
    raise_if_cancelled: Callable[[], object] = lambda: None,
) -> pa.Table:
    """Return the whole table, of at most `limits.stateless_rows` rows; fails as `open_table` does."""
    with open_table(source, options, limits, spool_folder, raise_if_cancelled) as stream:
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
        table = pa.Table.from_batches(batches, stream.schema).cast(marked_schema(stream))
        return dated_table(table, options.dates)
