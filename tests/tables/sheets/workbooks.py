"""Workbooks for tests: xlsx by openpyxl with formats, merged and hidden cells, ods by hand."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import openpyxl
from openpyxl.worksheet.worksheet import Worksheet

from app.tables.pipeline import TableSource, open_table
from app.tables.stream import AUTOMATIC, ReadOptions, TableStream
from tests.tables.table_bodies import LIMITS

Formatted = tuple[object, str]
"""A value, and the format by which a sheet shows it."""


def xlsx(
    rows: Sequence[Sequence[object]], then: Callable[[Worksheet], object] = lambda _: None
) -> bytes:
    """A workbook of one sheet; what is a pair is a value and its number format."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for at, row in enumerate(rows, start=1):
        for place, cell in enumerate(row, start=1):
            value, code = cell if isinstance(cell, tuple) else (cell, None)
            target = sheet.cell(at, place)
            target.value = value
            if code is not None:
                target.number_format = code
    then(sheet)
    return saved(book)


def saved(book: openpyxl.Workbook) -> bytes:
    """The bytes of a workbook."""
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def ods(rows: Sequence[str], columns: str = "", name: str = "Data") -> bytes:
    """A workbook of one sheet with these rows, each as it stands in the file."""
    spaces = " ".join(
        f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{prefix}:1.0"'
        for prefix in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces}><office:body>'
        f'<office:spreadsheet><table:table table:name="{name}">{columns}{"".join(rows)}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        "</manifest:manifest>"
    )
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr("content.xml", content)
    return sink.getvalue()


def ods_row(*cells: object, said: str = "") -> str:
    """A row of an ods; what is a pair is a value and what is said of its cell."""
    return f"<table:table-row {said}>{''.join(map(_ods_cell, cells))}</table:table-row>"


def _ods_cell(cell: object) -> str:
    value, said = cell if isinstance(cell, tuple) else (cell, "")
    if value is None:
        return f"<table:table-cell {said}/>"
    text = f"<text:p>{value}</text:p>"
    if isinstance(value, str):
        said += ' office:value-type="string"'
    elif "value-type" not in said:
        said += f' office:value-type="float" office:value="{value}"'
    else:
        said += f' office:value="{value}"'
    return f"<table:table-cell {said}>{text}</table:table-cell>"


def stream_of(body: bytes, folder: Path, params: ReadOptions = AUTOMATIC) -> TableStream:
    """A workbook as the service reads it."""
    return open_table(TableSource(io.BytesIO(body)), params, LIMITS, folder)
