"""Valid tables in every supported format, and how to mutate each."""

from __future__ import annotations

import io
import random
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.tables.binary_workbook import Cells, binary_workbook
from tests.tables.old_workbook import old_workbook
from trials.fuzzing.mutations import mutated, mutated_archive


def sample_tables() -> list[pa.Table]:
    """Return small tables of many types."""
    people = pa.table(
        {
            "person": [f"p{row}" for row in range(12)],
            "age": pa.array([20.5 + row for row in range(12)]),
            "city": ["Rome", "Oslo", None] * 4,
            "joined": pa.array([18_000 + row for row in range(12)], pa.date32()),
        }
    )
    numbers = pa.table(
        {f"x{column}": [float(column * row) for row in range(8)] for column in range(6)}
    )
    kinds = pa.table(
        {
            "whole": pa.array([1, None, 3], pa.int64()),
            "small": pa.array([1, 2, 255], pa.uint8()),
            "word": pa.array(["a", "b", "a"]).dictionary_encode(),
            "yes": pa.array([True, False, None]),
            "money": pa.array([1, 2, 3], pa.int32()).cast(pa.decimal128(12, 2)),
            "at": pa.array([0, 1, 2], pa.timestamp("ms", "UTC")),
        }
    )
    return [people, numbers, kinds]


def as_csv(table: pa.Table) -> list[bytes]:
    sink = io.BytesIO()
    pyarrow.csv.write_csv(table, sink)
    plain = sink.getvalue()
    return [plain, plain.replace(b",", b";"), plain.decode().encode("utf-16")]


def as_parquet(table: pa.Table) -> list[bytes]:
    bodies = []
    for options in ({"compression": "none"}, {"compression": "snappy"}, {"row_group_size": 2}):
        sink = io.BytesIO()
        pq.write_table(table, sink, **options)
        bodies.append(sink.getvalue())
    return bodies


def as_arrow(table: pa.Table) -> list[bytes]:
    bodies = []
    for compression in (None, "lz4", "zstd"):
        sink = io.BytesIO()
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
            stream.write_table(table, max_chunksize=5)
        bodies.append(sink.getvalue())
    return bodies


def as_xlsx(table: pa.Table) -> list[bytes]:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(table.schema.names)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        sheet.append([str(cell) if hasattr(cell, "tzinfo") else cell for cell in row])
    sink = io.BytesIO()
    book.save(sink)
    return [sink.getvalue()]


def as_arrow_file(table: pa.Table) -> list[bytes]:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table, max_chunksize=5)
    return [sink.getvalue()]


def as_json(table: pa.Table) -> list[bytes]:
    columns = {
        name: [cell if isinstance(cell, int | float | None) else str(cell) for cell in cells]
        for name, cells in table.to_pydict().items()
    }
    return [orjson.dumps({"columns": columns})]


OPEN_DOCUMENT = "urn:oasis:names:tc:opendocument:xmlns:"
SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"


def as_ods(table: pa.Table) -> list[bytes]:
    """Write ODS by hand, as no installed library does."""
    rows = "".join(
        "<table:table-row>" + "".join(map(_ods_cell, row)) + "</table:table-row>"
        for row in _lines(table)
    )
    document = (
        f'<office:document-content xmlns:office="{OPEN_DOCUMENT}office:1.0"'
        f' xmlns:table="{OPEN_DOCUMENT}table:1.0" xmlns:text="{OPEN_DOCUMENT}text:1.0">'
        '<office:body><office:spreadsheet><table:table table:name="people">'
        f"{rows}</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        f'<manifest:manifest xmlns:manifest="{OPEN_DOCUMENT}manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{SPREADSHEET}"/>'
        "</manifest:manifest>"
    )
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("mimetype", SPREADSHEET)
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr("content.xml", document)
    return [sink.getvalue()]


def _ods_cell(cell: float | str | None) -> str:
    if cell is None:
        return '<table:table-cell table:number-columns-repeated="1"/>'
    if isinstance(cell, str):
        said = f"<text:p>{escape(cell)}</text:p>"
        return f'<table:table-cell office:value-type="string">{said}</table:table-cell>'
    return f'<table:table-cell office:value-type="float" office:value="{cell}"/>'


def as_xlsb(table: pa.Table) -> list[bytes]:
    return [binary_workbook(_cells(table))]


def as_xls(table: pa.Table) -> list[bytes]:
    return [old_workbook(_cells(table))]


def _cells(table: pa.Table) -> Cells:
    return {
        (row, column): cell
        for row, cells in enumerate(_lines(table))
        for column, cell in enumerate(cells)
        if cell is not None
    }


def _lines(table: pa.Table) -> list[list[float | str | None]]:
    """Return the header and the rows, as numbers and texts."""
    plain = [
        [cell if cell is None else float(cell) if isinstance(cell, int | float) else str(cell)]
        for column in table.columns
        for cell in column.to_pylist()
    ]
    height = table.num_rows
    return [
        list(table.schema.names),
        *(
            [plain[height * column + row][0] for column in range(table.num_columns)]
            for row in range(height)
        ),
    ]


def by_pyreadstat(write: str) -> Callable[[pa.Table], list[bytes]]:
    """Return a writer for a format of a statistics package."""

    def as_file(table: pa.Table) -> list[bytes]:
        import polars as pl
        import pyreadstat

        header, *rows = _lines(table)
        frame: Any = pl.DataFrame(rows, schema=[str(name) for name in header], orient="row")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "table"
            getattr(pyreadstat, write)(frame, file)
            return [file.read_bytes()]

    return as_file


Mutate = Callable[[bytes, random.Random, list[bytes]], bytes]


@dataclass(frozen=True)
class Format:
    """Media type, writer and mutator of a format."""

    media_type: str
    write: Callable[[pa.Table], list[bytes]]
    mutate: Mutate = mutated


GENERIC_TYPE = "application/octet-stream"
"""Recognised by the first bytes."""

HTTP_FORMATS = {
    "CSV": Format("text/csv", as_csv),
    "Parquet": Format("application/vnd.apache.parquet", as_parquet),
    "Arrow": Format("application/vnd.apache.arrow.stream", as_arrow),
    "xlsx": Format(
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        as_xlsx,
        mutated_archive,
    ),
}
"""Formats also sent over HTTP."""

FORMATS = HTTP_FORMATS | {
    "Arrow file": Format("application/vnd.apache.arrow.file", as_arrow_file),
    "JSON": Format("application/json", as_json),
    "xls": Format("application/vnd.ms-excel", as_xls),
    "xlsb": Format(GENERIC_TYPE, as_xlsb, mutated_archive),
    "ods": Format(SPREADSHEET, as_ods, mutated_archive),
    "Stata": Format(GENERIC_TYPE, by_pyreadstat("write_dta")),
    "SPSS": Format(GENERIC_TYPE, by_pyreadstat("write_sav")),
    "SAS transport": Format(GENERIC_TYPE, by_pyreadstat("write_xport")),
}
