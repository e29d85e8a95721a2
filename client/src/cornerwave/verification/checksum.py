"""Checksum of a copy's values, from a file in any format but JSON, as the service computes it.

checksum = SHA-256 of the digests of the columns, in order
digest   = SHA-256 of a column's cells in row order: a byte 1 and a double as its 8 bytes, an integer or a date (days
           since 1970) as 8 bytes, all little-endian, or a text as its length in 8 bytes and its UTF-8; a missing
           cell is a byte 0 and 8 bytes 0
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cornerwave.transport.tables import needed
from cornerwave.values import CopyInfo

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = bytes(9)
THREADS = 4
FORMATS = ("parquet", "arrow", "csv")


def can_check(format: str, info: CopyInfo) -> bool:  # noqa: A002  # the parameter's name everywhere
    """Return whether the values can be told from the bytes: a CSV does not say what a passed column holds."""
    if format == "csv":
        return all(column.kind != "passthrough" for column in info.columns)
    return format in FORMATS


def checksum_of_file(path: str | os.PathLike[str], format: str, info: CopyInfo) -> str:  # noqa: A002
    """The checksum of the values in the file."""
    digests = [hashlib.sha256() for _ in info.columns]
    with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as threads:
        for batch in _batches(Path(path), format, info):
            # Each thread takes whole columns, so that a digest gets its cells in order.
            list(threads.map(_update, digests, batch.columns))
    return hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()


def _batches(path: Path, format: str, info: CopyInfo) -> Iterator[pa.RecordBatch]:  # noqa: A002
    pa = needed("pyarrow", "arrow")
    if format == "parquet":
        with needed("pyarrow.parquet", "arrow").ParquetFile(path) as file:
            # One row group at a time: `iter_batches` reads many ahead.
            for number in range(file.num_row_groups):
                yield from file.read_row_group(number, use_threads=False).to_batches()
    elif format == "arrow":
        with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as stream:
            yield from stream
    else:
        csv = needed("pyarrow.csv", "arrow")
        known = {"categorical": pa.string(), "datetime": pa.string(), "date": pa.date32()}
        types = {c.name: known[c.kind] for c in info.columns if c.kind in known}
        convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""])
        parse = csv.ParseOptions(newlines_in_values=True)
        with csv.open_csv(path, parse_options=parse, convert_options=convert) as stream:
            yield from stream


def _update(digest: hashlib._Hash, cells: Any) -> None:
    digest.update(_bytes(cells))


def _bytes(cells: Any) -> bytes:
    pa, np = needed("pyarrow", "arrow"), needed("numpy", "arrow")
    kind = cells.type
    if pa.types.is_null(kind):
        return MISSING * len(cells)
    if not pa.types.is_primitive(kind):
        coded = cells.dictionary_encode()
        texts = [_text(value.as_py().encode()) for value in coded.dictionary] + [MISSING]
        places = coded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
        return b"".join(map(texts.__getitem__, places.tolist()))
    if pa.types.is_date(kind):
        cells = cells.cast(pa.int32()).cast(pa.int64())
    written = np.empty(
        len(cells), [("there", "u1"), ("value", "<f8" if pa.types.is_floating(kind) else "<i8")]
    )
    written["there"] = (
        1 if cells.null_count == 0 else cells.is_valid().to_numpy(zero_copy_only=False)
    )
    filled = cells if cells.null_count == 0 else cells.fill_null(0)
    written["value"] = filled.to_numpy(zero_copy_only=False)
    return bytes(written.data)


def _text(text: bytes) -> bytes:
    return b"\x01" + len(text).to_bytes(8, "little") + text
