"""A table in any format that is read, as a stream of batches or as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidTable, TooLarge
from app.model import Limits, Storage
from app.tables.bodies.encoding import Counted, Readable, Unpacked, unpacked
from app.tables.formats.archive import archived, counted, whole_archive
from app.tables.formats.arrow import read_arrow, read_arrow_file
from app.tables.formats.csv import Rewound, read_csv
from app.tables.formats.excel import read_workbook
from app.tables.formats.json import read_json
from app.tables.formats.parquet import read_parquet
from app.tables.formats.statistics_files import read_statistics_file
from app.tables.media import ENOUGH_BYTES, Source, named_source, signed, with_parameters
from app.tables.reading_as import FOUND_OUT, ReadAs, ReadingWishes
from app.tables.stream import TableStream
from app.tables.summary import without_summary
from app.tables.values.cells import marked_schema

WHOLE_BYTES = 2**30
"""The largest table that is held as a whole."""

NO_WISHES: Mapping[str, Storage] = {}


def read_batches(
    body: Readable,
    content_type: str | None,
    content_encoding: str | None,
    limits: Limits,
    spool_folder: Path,
    *,
    wished: Mapping[str, Storage] = NO_WISHES,
    wishes: ReadingWishes = FOUND_OUT,
) -> TableStream:
    """The table in `body`, in memory that does not grow with it.

    `wished` names columns whose storage the caller settled: they are read as that whatever their
    first values look like. `wishes` settles how the text is read; the rest is found out, and said
    in the stream's `read_as`. Fails with UnsupportedMediaType, TooLarge, InvalidTable, or
    InvalidParameter for a wish that the values do not bear out; rows in errors count from 1, the
    first below the column names. What is wrong far down is found when the stream gets there.
    """
    said = named_source(content_type)
    wishes = with_parameters(content_type, wishes)
    plain = unpacked(body, content_encoding, limits.upload_bytes)
    stream = _read(plain, said, limits, spool_folder, wished, wishes)
    stream = replace(stream, read_as=replace(stream.read_as, missing=wishes.missing))
    return without_summary(with_missing(stream, wishes.missing))


def _read(
    body: Counted,
    said: Source | None,
    limits: Limits,
    spool_folder: Path,
    wished: Mapping[str, Storage],
    wishes: ReadingWishes,
    *,
    packed: bool = False,
) -> TableStream:
    head = _first_bytes(body)
    rewound = Counted(Rewound(head, body), limits.upload_bytes)
    source = signed(head) or said or _text_format(head)
    match source:
        case Source.CSV:
            stream = read_csv(rewound, limits, wished, wishes)
        case Source.JSON:
            stream = _named(read_json(rewound, limits, wished), source)
        case Source.PARQUET:
            stream = _named(read_parquet(rewound, limits, wished, spool_folder), source)
        case Source.ARROW:
            stream = _named(read_arrow(rewound, limits, wished), source)
        case Source.ARROW_FILE:
            stream = _named(read_arrow_file(rewound, limits, wished), source)
        case Source.STATA | Source.SPSS | Source.SAS | Source.SAS_TRANSPORT:
            stream = read_statistics_file(whole_archive(rewound), source, limits, wished)
        case Source.XLS:
            stream = read_workbook(whole_archive(rewound), source, limits, wished, wishes)
        case _ if packed:
            raise InvalidTable("The body is packed more than once; send the table itself.")
        case Source.GZIP | Source.ZSTD:
            inner = Counted(Unpacked(rewound, str(source)), limits.upload_bytes, "body, unpacked,")
            stream = _read(inner, None, limits, spool_folder, wished, wishes, packed=True)
        case _:
            kind, content = archived(whole_archive(rewound))
            if kind is Source.ZIP:
                inner = counted(content, limits.upload_bytes)
                stream = _read(inner, None, limits, spool_folder, wished, wishes, packed=True)
            else:
                stream = read_workbook(content, kind, limits, wished, wishes)
    return stream


def _first_bytes(body: Readable) -> bytes:
    head = b""
    while len(head) < ENOUGH_BYTES and (more := body.read(ENOUGH_BYTES - len(head))):
        head += more
    return head


def _text_format(head: bytes) -> Source:
    """JSON begins with a brace, which no column is likely to be called."""
    return Source.JSON if head.lstrip()[:1] == b"{" else Source.CSV


def _named(stream: TableStream, source: Source) -> TableStream:
    return replace(stream, read_as=ReadAs(format=str(source)))


def read_table(
    body: Readable,
    content_type: str | None,
    content_encoding: str | None,
    limits: Limits,
    spool_folder: Path,
    *,
    wishes: ReadingWishes = FOUND_OUT,
) -> pa.Table:
    """The whole table in `body`, of at most `limits.stateless_rows` rows; fails as `read_batches`."""
    with read_batches(
        body, content_type, content_encoding, limits, spool_folder, wishes=wishes
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
        return pa.Table.from_batches(batches, stream.schema).cast(schema)


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
