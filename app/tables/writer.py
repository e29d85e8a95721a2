"""A table in any of the five formats, out as a stream of chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from app.errors import NotAcceptable
from app.model import BLOCK_ROWS
from app.store.blobs.store import row_blocks
from app.tables.csv_injection import safe_cells
from app.tables.csv_writer import ChunkSink, csv_header, csv_lines
from app.tables.formats.xlsx_writer import write_workbook
from app.tables.media import MediaType

T = TypeVar("T")

CHUNK_BYTES = 512 * 1024
"""Each chunk costs the server a fixed time; of larger ones it passes on no more per second."""

ARROW_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
"""What ends a stream of Arrow messages: the sign of a message, and a length of 0."""

JSON_BYTES = 32 * 2**20
"""The largest table written as JSON: columns come one after the other, so all rows are held."""


GROUP_BYTES = 16 * 2**20
"""The doubles of a row group in Parquet, all of which are held until it is written."""


class Batches(Protocol):
    """A table's batches: calls `then` with each, perhaps with several at a time, and yields what
    came of them in the order of the rows."""

    def __call__(self, then: Callable[[pa.RecordBatch], T], /) -> Iterator[T]: ...


def write_table(table: pa.Table, media_type: MediaType) -> Iterator[memoryview]:
    """The bytes of a table that is at hand, as `write_batches` has them."""
    return write_batches(lambda then: map(then, table.to_batches()), table.schema, media_type)


def write_batches(
    batches: Batches, schema: pa.Schema, media_type: MediaType, *, safe: bool = False
) -> Iterator[memoryview]:
    """The bytes of the table with that schema, in chunks of at most `CHUNK_BYTES`.

    Missing cells are empty fields in CSV (quoted, where it has one column) and nulls elsewhere; floats are written with as many
    digits as tell them apart from all others. Too large a table for JSON is NotAcceptable. In `safe`
    CSV no text is one that a spreadsheet would run.
    """
    match media_type:
        case MediaType.CSV:
            return _chunks(_csv(batches, schema, safe_cells if safe else _as_it_is))
        case MediaType.PARQUET:
            return _chunks(_parquet(batches(_as_it_is), schema))
        case MediaType.ARROW:
            return _chunks(_arrow(batches, schema))
        case MediaType.JSON:
            return _chunks(_json(batches(_as_it_is), schema))
        case MediaType.XLSX:
            return _chunks(write_workbook(batches, schema, ChunkSink()))


def _csv(
    batches: Batches, schema: pa.Schema, shown: Callable[[pa.RecordBatch], pa.RecordBatch]
) -> Iterator[bytes | memoryview]:
    yield from csv_header(shown(pa.RecordBatch.from_pylist([], schema=schema)).schema)
    for lines in batches(lambda batch: csv_lines(shown(batch))):
        yield from lines


def _parquet(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[bytes]:
    sink = ChunkSink()
    with pq.ParquetWriter(sink, schema, use_dictionary=text_columns(schema)) as writer:
        for block in row_blocks(batches, rows_in_a_group(schema)):
            writer.write_table(block)
            yield from sink.take()
    yield from sink.take()


def rows_in_a_group(schema: pa.Schema) -> int:
    """65,536, or of a wide table so few that a row group is not long in memory."""
    fitting = GROUP_BYTES // (8 * max(1, len(schema)))
    return min(BLOCK_ROWS, max(1, fitting))


def _arrow(batches: Batches, schema: pa.Schema) -> Iterator[pa.Buffer]:
    yield schema.serialize()
    yield from batches(pa.RecordBatch.serialize)
    yield pa.py_buffer(ARROW_END)


def _as_it_is(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def _json(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[bytes]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > JSON_BYTES:
            raise NotAcceptable(
                "The table is too large to be written as JSON; ask for another format or fewer rows",
                supported=[str(other) for other in MediaType if other is not MediaType.JSON],
            )
    yield b'{"columns":{'
    for position, name in enumerate(schema.names):
        yield (b"," if position else b"") + orjson.dumps(name) + b":["
        written = False
        for batch in held:
            cells = _json_cells(batch.column(position))
            if cells:
                yield (b"," if written else b"") + cells
                written = True
        yield b"]"
    yield b"}}"


def _json_cells(values: pa.Array) -> bytes:
    """The values between commas, without the brackets."""
    if pa.types.is_floating(values.type):  # orjson writes a NaN, here a missing cell, as null
        numbers = values.to_numpy(zero_copy_only=False)
        return orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
    return orjson.dumps(values.to_pylist())[1:-1]


def text_columns(schema: pa.Schema) -> list[str]:
    """The columns worth a dictionary in Parquet: doubles hardly repeat."""
    return [field.name for field in schema if not pa.types.is_floating(field.type)]


def _chunks(
    parts: Iterator[bytes | memoryview] | Iterator[bytes] | Iterator[pa.Buffer],
) -> Iterator[memoryview]:
    """The same bytes in chunks: what is long is cut without being copied, what is short joined."""
    short: list[memoryview] = []
    waiting = 0
    for part in parts:
        for start in range(0, len(view := memoryview(part)), CHUNK_BYTES):
            chunk = view[start : start + CHUNK_BYTES]
            if waiting + len(chunk) > CHUNK_BYTES:
                yield _joined(short)
                short, waiting = [], 0
            if len(chunk) == CHUNK_BYTES:
                yield chunk
            else:
                short.append(chunk)
                waiting += len(chunk)
    if short:
        yield _joined(short)


def _joined(pieces: list[memoryview]) -> memoryview:
    return pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))
