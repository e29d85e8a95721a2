"""Cells of a workbook (xlsx) that hold a formula and no value: no spreadsheet program has saved it yet.

Libraries that write workbooks leave the values to the program that opens them next. The reader of
workbooks gives such a cell as an empty one. That it is missing is for the sender to say, as where a
formula failed.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile

from app.tables.sheets.far_apart import CELL, ROW, SHEETS, column_number

TOKEN = "#FORMULA!"  # noqa: S105 - what the sender says to take such cells as missing
"""By what the sender says so: nothing stands in the cell, so this is what failed formulas look like."""

WORKBOOK, RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
SHEET = re.compile(rb"""<(?:\w+:)?sheet\b[^>]*\s\w+:id\s*=\s*["']([^"']+)["']""")
RELATION = re.compile(rb"<(?:\w+:)?Relationship\b[^>]*>")
ATTRIBUTE = re.compile(rb"""\b(Id|Target)\s*=\s*["']([^"']*)["']""")

UNSAVED = re.compile(
    rb"<(?:\w+:)?c\b([^>]*)>\s*"
    rb"<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\b[^>]*/>|<(?:\w+:)?v\b[^>]*>\s*</(?:\w+:)?v>)?\s*"
    rb"</(?:\w+:)?c>"
)
REFERENCE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,7})["']""")
EMPTY_TEXT = re.compile(rb"""\bt\s*=\s*["']str["']""")
"""A formula whose value is known to be a text, and be it an empty one."""


def unsaved_formula(content: bytes, sheet: int) -> tuple[int, int] | None:
    """Row and column, both from 0, of the first formula without a value in the sheet of that number."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in sheet_files(archive, sheet):
            text = archive.read(name)
            for cell in UNSAVED.finditer(text):
                if EMPTY_TEXT.search(cell[1]) is None:
                    return _place(text, cell)
    return None


def _place(text: bytes, cell: re.Match[bytes]) -> tuple[int, int]:
    """Where a cell says that it stands, or where it does by those before it."""
    if (said := REFERENCE.search(cell[1])) is not None:
        return int(said[2]) - 1, column_number(said[1]) - 1
    rows = ROW.split(text[: cell.start()])
    return max(len(rows) - 2, 0), len(CELL.findall(rows[-1]))


def sheet_files(archive: zipfile.ZipFile, sheet: int) -> list[str]:
    """The file of a sheet; those of all sheets where the workbook does not tell."""
    names = archive.namelist()
    every = [name for name in names if name.lower().startswith(SHEETS)]
    if WORKBOOK not in names or RELATIONS not in names:
        return every
    ids = SHEET.findall(archive.read(WORKBOOK))
    targets = dict(_relation(one) for one in RELATION.findall(archive.read(RELATIONS)))
    target = targets.get(ids[sheet]) if sheet < len(ids) else None
    if target is None:
        return every
    path = posixpath.normpath(posixpath.join("/xl", target.decode(errors="replace"))).lstrip("/")
    return [path] if path in names else every


def _relation(tag: bytes) -> tuple[bytes, bytes]:
    said = dict(ATTRIBUTE.findall(tag))
    return said.get(b"Id", b""), said.get(b"Target", b"")
