"""Parquet parser: the file is spooled, then read page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.errors import InvalidTable
from app.model import BLOCK_ROWS, Limits
from app.tables.bodies.spool import Spool
from app.tables.bodies.streams import CountedStream, refuse_swollen
from app.tables.formats.parquet_pages import refuse_swollen_pages
from app.tables.values.normalisation import TEXT_BYTES, UNREADABLE, checked_names, is_text

PAGE_BUFFER_BYTES = 2**20
VALUE_BYTES = 8
"""Memory of a cell at least: a double, or where a text ends."""

UNREADABLE_PART = "A part of the Parquet file cannot be read"


def parse_parquet(
    body: CountedStream, limits: Limits, spool_folder: Path
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of the Parquet file that `body` is."""
    with Spool(body, spool_folder) as spool:
        if spool.size == 0:
            raise InvalidTable("The body is empty")
        refuse_swollen_pages(spool, spool.size, limits.upload_bytes)
        file = _opened(spool)
        checked_names(file.schema_arrow.names, limits)
        _refuse_swollen(file.metadata, spool.size, limits)
        if long := _columns_of_long_texts(file.schema_arrow, spool):
            file = _opened(spool, long)
        try:
            for batch in file.iter_batches(batch_size=BLOCK_ROWS):
                # Arrow checks neither texts nor the indices of a dictionary by itself.
                batch.validate(full=True)
                yield batch
        except UNREADABLE:
            raise InvalidTable(UNREADABLE_PART) from None


def _opened(spool: Spool, dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
    """The file; the text columns in `dictionaries` are read as dictionaries."""
    try:
        # Without pre-buffering and with a small buffer a row group is read by pages: memory does
        # not grow with the row groups of the caller.
        return pq.ParquetFile(
            pa.PythonFile(spool, mode="r"),
            pre_buffer=False,
            buffer_size=PAGE_BUFFER_BYTES,
            read_dictionary=list(dictionaries),
        )
    except UNREADABLE:
        raise InvalidTable("The body is not a complete, well-formed Parquet file") from None


def _refuse_swollen(metadata: pq.FileMetaData, size: int, limits: Limits) -> None:
    """TooLarge when the footer tells more values than the limits allow.

    A column of one value in a billion rows is a few bytes. Only the sums of row groups are read: the metadata of a
    column, asked for through pyarrow, end the process when they are malformed.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    declared = max(
        sum(group.total_byte_size for group in groups), VALUE_BYTES * rows * metadata.num_columns
    )
    refuse_swollen(declared, size, limits.upload_bytes)


def _columns_of_long_texts(schema: pa.Schema, spool: Spool) -> list[str]:
    """The text columns in whose dictionaries texts are so long that a block of rows may be too much.

    Arrow's reader writes dictionaries out. A dictionary is complete with the first row of its row group, so one row
    of each tells which columns must be read as dictionaries. For all columns that would take ten times the time.
    """
    texts = [field.name for field in schema if is_text(field.type)]
    if not texts:
        return []
    found: set[str] = set()
    try:
        file = _opened(spool, texts)
        for group in range(file.num_row_groups):
            row = next(file.iter_batches(1, row_groups=[group], columns=texts), None)
            if row is None:
                continue
            row.validate(full=True)
            found |= {
                name
                for name, values in zip(texts, row.columns, strict=True)
                if (pc.max(pc.binary_length(values.dictionary)).as_py() or 0)
                > TEXT_BYTES // BLOCK_ROWS
            }
    except UNREADABLE:
        raise InvalidTable(UNREADABLE_PART) from None
    return sorted(found)
