"""Arrow parser: one record batch at a time, from a stream or from a file, which is a stream with an index."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.ipc

from app.errors import InvalidTable
from app.model import Limits
from app.tables.bodies.streams import CountedStream
from app.tables.formats.arrow_message import ArrowMessages, malformed
from app.tables.values.normalisation import UNREADABLE, checked_names

FILE_MAGIC = b"ARROW1\0\0"


def parse_arrow(
    body: CountedStream, limits: Limits, *, is_file: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of the Arrow IPC stream, or file, that `body` is."""
    if is_file:
        body.read(len(FILE_MAGIC))
    try:
        stream = pa.ipc.open_stream(pa.PythonFile(ArrowMessages(body), mode="r"))
        names = stream.schema.names
    except UNREADABLE:
        if body.count == 0:
            raise InvalidTable("The body is empty") from None
        raise malformed() from None
    checked_names(names, limits)
    try:
        for batch in stream:
            # Arrow takes offsets as they come: unchecked, they read anywhere.
            batch.validate(full=True)
            yield batch
    except UNREADABLE:
        raise malformed() from None
