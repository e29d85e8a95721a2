"""Files of statistics packages in: Stata, SPSS, SAS. Read by pyreadstat, which is an extra.

The file is held in memory and never lies on the disk in clear. Codes come as they are, without
their labels; what the package calls missing is missing.
"""

from __future__ import annotations

import datetime as dt
import importlib
import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from app.errors import InvalidTable, UnsupportedMediaType
from app.model import BLOCK_ROWS, Limits, Storage
from app.tables.bodies.encoding import refuse_swollen
from app.tables.formats.archive import UNPACKED_BYTES
from app.tables.media import FileFormat
from app.tables.stream import DetectedFormat, TableStream
from app.tables.values.cells import checked_names
from app.tables.values.normalising import normalised

READERS = {
    FileFormat.STATA: "read_dta",
    FileFormat.SPSS: "read_sav",
    FileFormat.SAS: "read_sas7bdat",
    FileFormat.SAS_TRANSPORT: "read_xport",
}

DAMAGED = (ValueError, OverflowError, LookupError)
"""What the reader raises for bytes that were changed: for texts in no encoding, above all."""

CELL_BYTES = 8


def read_statistics_file(
    content: bytes, source: FileFormat, limits: Limits, wished: Mapping[str, Storage]
) -> TableStream:
    """The table in the file of a statistics package."""
    try:
        pyreadstat: Any = importlib.import_module("pyreadstat")
    except ImportError:
        raise UnsupportedMediaType(
            f"Files of {source} are read where the extra `statistics-files` is installed; here it is "
            "not. Send CSV, Excel, Parquet, an Arrow stream or JSON columns.",
            supported=[str(FileFormat.CSV), str(FileFormat.XLSX), str(FileFormat.PARQUET)],
        ) from None
    read = getattr(pyreadstat, READERS[source])
    try:
        outline = read(io.BytesIO(content), metadataonly=True, output_format="dict")[1]
        # The reader makes room for all the rows that a file says it has, before it reads the first.
        cells = (outline.number_rows or 0) * len(outline.column_names)
        refuse_swollen(CELL_BYTES * cells, len(content), UNPACKED_BYTES)
        columns, described = read(io.BytesIO(content), output_format="dict")
    except (pyreadstat.ReadstatError, *DAMAGED):
        raise InvalidTable(f"The body is not a complete, well-formed file of {source}.") from None
    # A name that cannot be read comes as None.
    names = [name or "" for name in described.column_names]
    checked_names(names, limits)
    table = pa.table([_array(name, columns[name]) for name in names], names=names)
    stream = normalised(_batches(table), limits, wished)
    return replace(
        stream, read_as=DetectedFormat(format=str(source), encoding=described.file_encoding)
    )


def _array(name: str, values: Any) -> pa.Array:
    cells = [None if _is_missing(value) else value for value in values]
    try:
        array = pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InvalidTable(
            f"Column {name!r} holds values of different types.", column=name
        ) from None
    if pa.types.is_timestamp(array.type) and all(
        cell is None or cell.time() == dt.time() for cell in cells
    ):
        return array.cast(pa.date32())
    return array


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches(max_chunksize=BLOCK_ROWS)
