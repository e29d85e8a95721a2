"""Parquet in: spooled, then read page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.errors import InvalidTable
from app.model import BLOCK_ROWS, Limits, Storage
from app.tables.bodies.encoding import CountedStream, refuse_swollen
from app.tables.bodies.spool import Spool
from app.tables.formats.parquet_pages import refuse_swollen_pages
from app.tables.stream import TableStream
from app.tables.values.cells import checked_names
from app.tables.values.normalising import UNREADABLE, normalised
from app.tables.values.plain import TEXT_BYTES, is_text

PAGE_BUFFER_BYTES = 2**20
VALUE_BYTES = 8
"""What a cell takes at least once it is read: a double, or where a text ends."""

UNREADABLE_PART = "A part of the Parquet file cannot be read"


def read_parquet(
    body: CountedStream, limits: Limits, wished: Mapping[str, Storage], spool_folder: Path
) -> TableStream:
    """The table in the Parquet file that `body` is."""
    spool = Spool(body, spool_folder)
    try:
        if spool.size == 0:
            raise InvalidTable("The body is empty")
        refuse_swollen_pages(spool, spool.size, limits.upload_bytes)
        file = _opened(spool)
        checked_names(file.schema_arrow.names, limits)
        _refuse_swollen(file.metadata, spool.size, limits)
        if long := _columns_of_long_texts(file.schema_arrow, spool):
            file = _opened(spool, long)
        return normalised(_batches(file), limits, wished, release=spool.close)
    except BaseException:
        spool.close()
        raise


def _opened(spool: Spool, dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
    """The file; texts of the columns in `dictionaries` come as dictionaries, not written out."""
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
    """TooLarge when the file says that it unpacks to more than the limits, by its bytes or by its values.

    A column of one value in a billion rows is a few bytes, and says so. Only the sums of row groups are looked
    at: the metadata of a column, asked for through pyarrow, end the process when they are malformed.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    said = max(
        sum(group.total_byte_size for group in groups), VALUE_BYTES * rows * metadata.num_columns
    )
    refuse_swollen(said, size, limits.upload_bytes)


def _columns_of_long_texts(schema: pa.Schema, spool: Spool) -> list[str]:
    """The text columns whose dictionaries have texts so long that a block of them may be too much.

    Arrow's reader writes dictionaries out. A dictionary is complete with the first row of its row
    group, so a look at one row of each tells which columns must come as dictionaries, to be
    reckoned before they are written out. For all columns that would cost ten times the time.
    """
    texts = [field.name for field in schema if is_text(field.type)]
    if not texts:
        return []
    longest = TEXT_BYTES // BLOCK_ROWS
    found: set[str] = set()
    try:
        file = _opened(spool, texts)
        for group in range(file.num_row_groups):
            for row in file.iter_batches(1, row_groups=[group], columns=texts):
                row.validate(full=True)
                found |= {
                    name
                    for name, values in zip(texts, row.columns, strict=True)
                    if (pc.max(pc.binary_length(values.dictionary)).as_py() or 0) > longest
                }
                break
    except UNREADABLE:
        raise InvalidTable(UNREADABLE_PART) from None
    return sorted(found)


def _batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    try:
        for batch in file.iter_batches(batch_size=BLOCK_ROWS):
            # Arrow takes texts and the places in a dictionary as they are: unchecked, a text may be
            # none, and be found out only where it is read as one.
            batch.validate(full=True)
            yield batch
    except UNREADABLE:
        raise InvalidTable(UNREADABLE_PART) from None
