"""Adapter of the extra `formats`: xls, xlsb and ods workbooks, and files of Stata, SPSS and SAS.

Files of statistics packages are held in memory and never lie on the disk in clear. Codes come without their labels;
what the package calls missing is missing.
"""

from __future__ import annotations

import datetime as dt
import importlib
import io
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from app.errors import InvalidTable, UnsupportedMediaType
from app.model import BLOCK_ROWS, Limits
from app.tables.bodies.streams import refuse_swollen
from app.tables.formats.archive import UNPACKED_BYTES
from app.tables.media import FileFormat
from app.tables.stream import DetectedFormat
from app.tables.values.normalisation import checked_names

READERS = {
    FileFormat.STATA: "read_dta",
    FileFormat.SPSS: "read_sav",
    FileFormat.SAS: "read_sas7bdat",
    FileFormat.SAS_TRANSPORT: "read_xport",
}
OPTIONAL = frozenset({FileFormat.XLS, FileFormat.XLSB, FileFormat.ODS, *READERS})

DAMAGED = (ValueError, OverflowError, LookupError)
"""What the reader raises for bytes that were changed: for texts in no encoding, above all."""

CELL_BYTES = 8


def require_extra(file_format: FileFormat) -> Any:
    """Return the library of the extra; UnsupportedMediaType for one of its formats without it."""
    try:
        return importlib.import_module("pyreadstat")
    except ImportError:
        raise UnsupportedMediaType(
            f"Files of {file_format} are read where the extra `formats` is installed; here it is "
            "not. Send CSV, xlsx, Parquet, an Arrow stream or JSON columns.",
            supported=[str(FileFormat.CSV), str(FileFormat.XLSX), str(FileFormat.PARQUET)],
        ) from None


def parse_statistics(
    content: bytes, file_format: FileFormat, limits: Limits
) -> tuple[DetectedFormat, Iterator[pa.RecordBatch]]:
    """Return the encoding and the batches of a file of a statistics package."""
    pyreadstat = require_extra(file_format)
    read = getattr(pyreadstat, READERS[file_format])
    try:
        outline = read(io.BytesIO(content), metadataonly=True, output_format="dict")[1]
        # The reader allocates all the rows that a file declares before it reads the first.
        cells = (outline.number_rows or 0) * len(outline.column_names)
        refuse_swollen(CELL_BYTES * cells, len(content), UNPACKED_BYTES)
        columns, described = read(io.BytesIO(content), output_format="dict")
    except (pyreadstat.ReadstatError, *DAMAGED):
        raise InvalidTable(
            f"The body is not a complete, well-formed file of {file_format}."
        ) from None
    names = [name or "" for name in described.column_names]  # None for one that cannot be read
    checked_names(names, limits)
    table = pa.table([_array(name, columns[name]) for name in names], names=names)
    found = DetectedFormat(str(file_format), encoding=described.file_encoding)
    return found, iter(table.to_batches(max_chunksize=BLOCK_ROWS))


def _array(name: str, values: Any) -> pa.Array:
    cells = [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in values]
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
