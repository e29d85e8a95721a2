"""Bodies of requests for tests: the same table in every format, written by Arrow and by hand."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
from hypothesis import strategies as st

from app.model import Limits, Storage
from app.tables.media import MediaType
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import AUTOMATIC, ReadOptions

LIMITS = Limits()

names = st.text("abcdefghXYZ_é", min_size=1, max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
# Texts that CSV gives back: it cannot tell a number from the same digits as a text.
texts = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "Z"]), min_size=1, max_size=12
).map(lambda text: "t" + text)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Number and text columns with missing cells, but for the first cell, which tells the type."""
    rows = draw(st.integers(1, 20))
    chosen = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    columns = {}
    for name in chosen:
        number = draw(st.booleans())
        cells = numbers if number else texts
        rest = st.lists(cells | st.none(), min_size=rows - 1, max_size=rows - 1)
        values = [draw(cells), *draw(rest)]
        columns[name] = pa.array(values, pa.float64() if number else pa.large_string())
    return pa.table(columns)


def as_csv(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pa.csv.write_csv(table, sink, pa.csv.WriteOptions(quoting_style="needed"))
    return sink.getvalue()


def as_parquet(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def as_arrow(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def as_json(table: pa.Table) -> bytes:
    return orjson.dumps({"columns": table.to_pydict()})


def zstd(body: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(body)
    packed_bytes: bytes = sink.getvalue().to_pybytes()
    return packed_bytes


BODIES = {
    MediaType.CSV: as_csv,
    MediaType.PARQUET: as_parquet,
    MediaType.ARROW: as_arrow,
    MediaType.JSON: as_json,
}


class Slow:
    """A body that comes in pieces of odd sizes, made as they are asked for."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def read(self, size: int, /) -> bytes:
        if not self._rest:
            self._rest = next(self._parts, b"")
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def read(
    body: bytes,
    media_type: str,
    folder: Path,
    *,
    encoding: str | None = None,
    limits: Limits = LIMITS,
    wished: dict[str, Storage] | None = None,
    params: ReadOptions = AUTOMATIC,
) -> pa.Table:
    """All of a body, read as the service reads it."""
    with open_table(
        TableSource(io.BytesIO(body), media_type, encoding),
        replace(params, storage=wished or {}),
        limits,
        folder,
    ) as stream:
        return pa.Table.from_batches(list(stream.batches), stream.schema)
