"""Parquet in: spooled, then read page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from app.api.tables.cells import checked_names
from app.api.tables.encoding import Counted
from app.api.tables.normalising import UNREADABLE, normalised
from app.api.tables.spool import Spool
from app.errors import InvalidTable, TooLarge
from app.model import BLOCK_ROWS, Limits, Storage
from app.service.table_stream import TableStream

PAGE_BUFFER_BYTES = 2**20


def read_parquet(
    body: Counted, limits: Limits, wished: Mapping[str, Storage], spool_folder: Path
) -> TableStream:
    """The table in the Parquet file that `body` is."""
    spool = Spool(body, spool_folder)
    try:
        if spool.size == 0:
            raise InvalidTable("The body is empty")
        file = _opened(spool)
        checked_names(file.schema_arrow.names, limits)
        _refuse_swollen(file.metadata, limits)
        return normalised(_batches(file), limits, wished, release=spool.close)
    except BaseException:
        spool.close()
        raise


def _opened(spool: Spool) -> pq.ParquetFile:
    try:
        # Without pre-buffering and with a small buffer a row group is read by pages: memory does
        # not grow with the row groups of the caller.
        return pq.ParquetFile(
            pa.PythonFile(spool, mode="r"), pre_buffer=False, buffer_size=PAGE_BUFFER_BYTES
        )
    except UNREADABLE:
        raise InvalidTable("The body is not a complete, well-formed Parquet file") from None


def _refuse_swollen(metadata: pq.FileMetaData, limits: Limits) -> None:
    """TooLarge when the file says that it unpacks to more than the limit."""
    unpacked = sum(
        metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups)
    )
    if unpacked > limits.upload_bytes:
        raise TooLarge(
            f"The table unpacks to more than {limits.upload_bytes} bytes",
            limit_bytes=limits.upload_bytes,
        )


def _batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    try:
        yield from file.iter_batches(batch_size=BLOCK_ROWS)
    except UNREADABLE:
        raise InvalidTable("A part of the Parquet file cannot be read") from None
