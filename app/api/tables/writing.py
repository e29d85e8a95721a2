"""A table in any of the four formats, out as a stream of chunks."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from app.api.tables.media import MediaType
from app.errors import NotAcceptable
from app.store.row_blocks import row_blocks

CHUNK_BYTES = 128 * 1024
"""Of 64 to 256 KiB the server passes on most per second."""

CSV_THREADS = 2

JSON_BYTES = 256 * 2**20
"""The largest table written as JSON: columns come one after the other, so all rows are held."""


def write_batches(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, media_type: MediaType
) -> Iterator[bytes]:
    """The bytes of the table with that schema, in chunks of `CHUNK_BYTES` and a shorter last one.

    Missing cells are empty fields in CSV and nulls elsewhere; floats are written with as many
    digits as tell them apart from all others. Too large a table for JSON is NotAcceptable.
    """
    match media_type:
        case MediaType.CSV:
            return _chunks(_csv(batches, schema))
        case MediaType.PARQUET:
            return _chunks(_parquet(batches, schema))
        case MediaType.ARROW:
            return _chunks(_arrow(batches, schema))
        case MediaType.JSON:
            return _chunks(_json(batches, schema))


class Drain(io.RawIOBase):
    """A sink to a writer, emptied by `take` after each step."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def write(self, data: object, /) -> int:
        part = bytes(memoryview(data))  # type: ignore[arg-type]  # whatever buffer the writer has
        self._parts.append(part)
        return len(part)

    def writable(self) -> bool:
        return True

    def take(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken


def _csv(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[bytes]:
    sink = io.BytesIO()
    pl.DataFrame(pl.from_arrow(schema.empty_table())).write_csv(sink)
    yield sink.getvalue()
    # Two batches at a time: while polars ends one, with less and less to do in parallel, another
    # has begun.
    waiting: deque[Future[bytes]] = deque()
    with ThreadPoolExecutor(CSV_THREADS, thread_name_prefix="csv") as pool:
        for batch in batches:
            waiting.append(pool.submit(_csv_rows, batch))
            if len(waiting) >= CSV_THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _csv_rows(batch: pa.RecordBatch) -> bytes:
    sink = io.BytesIO()
    pl.DataFrame(pl.from_arrow(batch)).write_csv(sink, include_header=False)
    return sink.getvalue()


def _parquet(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[bytes]:
    sink = Drain()
    with pq.ParquetWriter(sink, schema, use_dictionary=text_columns(schema)) as writer:
        for block in row_blocks(batches):
            writer.write_table(block)
            yield sink.take()
    yield sink.take()


def _arrow(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[bytes]:
    sink = Drain()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield sink.take()
    yield sink.take()


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


def _chunks(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in chunks of one size; each is copied once, however large its part is."""
    held = b""
    for part in parts:
        start = 0
        if held:
            start = CHUNK_BYTES - len(held)
            held += part[:start]
            if len(held) < CHUNK_BYTES:
                continue
            yield held
        end = start + (len(part) - start) // CHUNK_BYTES * CHUNK_BYTES
        for first in range(start, end, CHUNK_BYTES):
            yield part[first : first + CHUNK_BYTES]
        held = part[end:]
    if held:
        yield held
