"""A table in any of the four formats, as a stream of batches or as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from app.api.tables.encoding import Readable, unpacked
from app.api.tables.media import MediaType, media_type
from app.api.tables.reading_arrow import read_arrow
from app.api.tables.reading_csv import read_csv
from app.api.tables.reading_json import read_json
from app.api.tables.reading_parquet import read_parquet
from app.errors import TooLarge
from app.model import Limits, Storage
from app.service.table_stream import TableStream

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
) -> TableStream:
    """The table in `body`, in memory that does not grow with it.

    `wished` names columns whose storage the caller settled: they are read as that whatever their
    first values look like. Fails with UnsupportedMediaType, TooLarge, InvalidTable, or
    InvalidParameter for a wish that the values do not bear out; rows in errors count from 1, the
    first below the column names. What is wrong far down is found when the stream gets there.
    """
    format_ = media_type(content_type)
    plain = unpacked(body, content_encoding, limits.upload_bytes)
    match format_:
        case MediaType.CSV:
            return read_csv(plain, limits, wished)
        case MediaType.PARQUET:
            return read_parquet(plain, limits, wished, spool_folder)
        case MediaType.ARROW:
            return read_arrow(plain, limits, wished)
        case MediaType.JSON:
            return read_json(plain, limits, wished)


def read_table(
    body: Readable,
    content_type: str | None,
    content_encoding: str | None,
    limits: Limits,
    spool_folder: Path,
    *,
    wished: Mapping[str, Storage] = NO_WISHES,
) -> pa.Table:
    """The whole table in `body`, of at most `limits.stateless_rows` rows; fails as `read_batches`."""
    with read_batches(
        body, content_type, content_encoding, limits, spool_folder, wished=wished
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
        return pa.Table.from_batches(batches, stream.schema)
