"""Arrow stream in: one record batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.ipc

from app.api.tables.arrow_message import Messages, malformed
from app.api.tables.cells import checked_names
from app.api.tables.encoding import Counted
from app.api.tables.normalising import UNREADABLE, normalised
from app.errors import InvalidTable
from app.model import Limits, Storage
from app.service.table_stream import TableStream


def read_arrow(body: Counted, limits: Limits, wished: Mapping[str, Storage]) -> TableStream:
    """The table in the Arrow IPC stream of `body`."""
    try:
        stream = pa.ipc.open_stream(pa.PythonFile(Messages(body), mode="r"))
        names = stream.schema.names
    except UNREADABLE:
        if body.count == 0:
            raise InvalidTable("The body is empty") from None
        raise malformed() from None
    checked_names(names, limits)
    return normalised(_batches(stream), limits, wished)


def _batches(stream: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        for batch in stream:
            # Arrow takes offsets from the wire as they are: unchecked, they read anywhere.
            batch.validate(full=True)
            yield batch
    except UNREADABLE:
        raise malformed() from None
