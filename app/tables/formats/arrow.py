"""Arrow in: one record batch at a time, from a stream or from a file, which is a stream with an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.ipc

from app.errors import InvalidTable
from app.model import Limits, Storage
from app.tables.bodies.encoding import CountedStream
from app.tables.formats.arrow_message import ArrowMessages, malformed
from app.tables.stream import TableStream
from app.tables.values.cells import checked_names
from app.tables.values.normalising import UNREADABLE, normalised

FILE_MAGIC = b"ARROW1\0\0"


def read_arrow(body: CountedStream, limits: Limits, wished: Mapping[str, Storage]) -> TableStream:
    """The table in the Arrow IPC stream of `body`."""
    try:
        stream = pa.ipc.open_stream(pa.PythonFile(ArrowMessages(body), mode="r"))
        names = stream.schema.names
    except UNREADABLE:
        if body.count == 0:
            raise InvalidTable("The body is empty") from None
        raise malformed() from None
    checked_names(names, limits)
    return normalised(_batches(stream), limits, wished)


def read_arrow_file(
    body: CountedStream, limits: Limits, wished: Mapping[str, Storage]
) -> TableStream:
    """The table in the Arrow IPC file of `body`: behind its magic it is a stream."""
    body.read(len(FILE_MAGIC))
    return read_arrow(body, limits, wished)


def _batches(stream: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        for batch in stream:
            # Arrow takes offsets from the wire as they are: unchecked, they read anywhere.
            batch.validate(full=True)
            yield batch
    except UNREADABLE:
        raise malformed() from None
