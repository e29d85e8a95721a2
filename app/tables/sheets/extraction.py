"""The program that extracts a sheet of a workbook as CSV, in the process that `sandbox` starts.

A line of JSON and the workbook come in; a line of JSON and the sheet as CSV go out, or an error in place of both.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import resource
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TextIO

from python_calamine import CalamineError, CalamineWorkbook, SheetVisibleEnum

from app.errors import DomainError, InvalidParameter, InvalidTable
from app.tables.dialect.number_syntax import numbers_among
from app.tables.formats import archive
from app.tables.sheets.ods import read_ods_layout
from app.tables.sheets.sheet import (
    Cell,
    Sheet,
    SheetLayout,
    SheetRequest,
    SheetSummary,
    cell_name,
    is_filled,
)
from app.tables.sheets.xlsx import read_xlsx_layout
from app.tables.sheets.xml_walk import NOT_XML

DAMAGED = (CalamineError, NOT_XML, StopIteration, *archive.DAMAGED)
"""What the readers raise for bytes that were changed."""

NOT_COMPUTED = "#FORMULA!"
"""Token of `missing` for formulas without a result."""

MOST_NAMED = 5
"""Rows, or errors, that a message names at most."""


def main() -> None:
    """Read one workbook within the limits given as arguments."""
    memory_bytes, cpu_seconds = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    request = SheetRequest(**json.loads(sys.stdin.buffer.readline()))
    out = io.TextIOWrapper(sys.stdout.buffer, "utf-8", newline="", write_through=False)
    try:
        summary, write_rows = extract(sys.stdin.buffer.read(), request)
    except DomainError as error:
        kind = type(error).__name__
        json.dump({"error": [kind, error.detail, error.fields]}, out)
        return
    json.dump({"summary": asdict(summary)}, out)
    out.write("\n")
    write_rows(out)
    out.flush()


def extract(
    content: bytes, request: SheetRequest
) -> tuple[SheetSummary, Callable[[TextIO], object]]:
    """Return the summary of the sheet, and the function that writes its rows as CSV."""
    try:
        sheet = _chosen(CalamineWorkbook.from_filelike(io.BytesIO(content)), request.sheet)
        layout = _layout(content, request.source, sheet)
        if request.header_row is not None:
            above = max(0, request.header_row - 1 - sheet.top)
            sheet = replace(sheet, top=sheet.top + above, cells=sheet.cells[above:])
    except DAMAGED:
        raise InvalidTable(
            f"The body is not a complete, well-formed {request.source} workbook."
        ) from None
    _refuse_errors(layout, request.missing)
    if layout.unsaved is not None and NOT_COMPUTED not in request.missing:
        raise _not_computed(sheet, layout.unsaved, header=request.header)
    header_rows = 1 if request.header else 0
    _refuse_merged(sheet, layout, header_rows)
    rows = sheet.rows
    _refuse_dates_and_numbers(rows, request)
    if not rows:
        raise InvalidTable("The sheet is empty", sheet=sheet.name)
    return _summary(sheet, layout, header_rows, request.missing), lambda out: _write(rows, out)


def _chosen(book: CalamineWorkbook, named: str | None) -> Sheet:
    names = book.sheet_names
    if named is not None:
        if named not in names:
            raise InvalidParameter(
                f"The workbook has no sheet of that name; it has {', '.join(names)}.",
                parameter="sheet",
                sheets=names,
            )
        return _sheet(book, named)
    filled = [sheet for name in names if (sheet := _sheet(book, name)).cells]
    if len(filled) > 1:
        told = [sheet.name for sheet in filled]
        raise InvalidParameter(
            f"The workbook has {len(filled)} sheets with cells ({', '.join(told)}); say which one "
            "with the parameter `sheet`.",
            parameter="sheet",
            sheets=told,
        )
    if not filled:
        raise InvalidTable("No sheet of the workbook has cells.")
    return filled[0]


def _sheet(book: CalamineWorkbook, name: str) -> Sheet:
    """A sheet, without the empty rows and columns around its cells."""
    number = book.sheet_names.index(name)
    sheet = book.get_sheet_by_name(name)
    top, left = sheet.start or (0, 0)
    cells: list[list[Cell]] = [[*row] for row in sheet.to_python(skip_empty_area=True)]
    return Sheet(
        name,
        number,
        top,
        left,
        cells if any(map(is_filled, cells)) else [],
        sheet.merged_cell_ranges or (),
        visible=book.sheets_metadata[number].visible == SheetVisibleEnum.Visible,
    )


def _layout(content: bytes, source: str, sheet: Sheet) -> SheetLayout:
    """Return the layout of the sheet, as far as its format reveals it."""
    columns = sheet.left + max(map(len, sheet.cells), default=0)
    layout = SheetLayout(sheet.bottom, columns, merged=[*sheet.merged])
    if source in ("xlsx", "ods"):
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            if source == "xlsx":
                read_xlsx_layout(book, sheet.number, layout)
            else:
                read_ods_layout(book, sheet.name, layout)
    return layout


def _refuse_errors(layout: SheetLayout, missing: Sequence[str]) -> None:
    """InvalidTable for formulas that failed, unless the sender takes their cells as missing."""
    unsaid = sorted(layout.errors.difference(missing))[:MOST_NAMED]
    if unsaid:
        tokens = "&".join(f"missing={token}" for token in unsaid)
        raise InvalidTable(
            f"Formulas of the sheet failed ({', '.join(unsaid)}). Mend them, or say {tokens} to take"
            " these cells as missing."
        )


def _not_computed(sheet: Sheet, place: tuple[int, int], *, header: bool) -> InvalidTable:
    """The error for a formula that has no value."""
    position = max(place[1] - sheet.left, 0)
    row = sum(map(is_filled, sheet.cells[: max(place[0] - sheet.top, 0)]))
    column = f"column_{position + 1}"
    if not header:
        row += 1
    elif sheet.cells and position < len(sheet.cells[0]) and sheet.cells[0][position]:
        column = str(sheet.cells[0][position])
    return InvalidTable(
        f"Column {column!r} holds formulas without a value, first in row {row}: no spreadsheet program has"
        " computed them yet. Open the workbook in one and save it, or say"
        f" missing={NOT_COMPUTED} to take such cells as missing.",
        column=column,
        row=row,
    )


def _refuse_merged(sheet: Sheet, layout: SheetLayout, header_rows: int) -> None:
    """InvalidTable for cells below the names that are one cell, of which all but the first would be missing."""
    first_row = next((at for at, _ in sheet.records(header_rows)), sheet.bottom)
    for (top, left), (bottom, right) in layout.merged:
        if (top, left) == (bottom, right) or bottom < first_row or not sheet.has_value(top, left):
            continue
        name = f"{cell_name(top, left)}:{cell_name(bottom, right)}"
        raise InvalidTable(
            f"The cells {name} of the sheet are merged: all but the first would be missing. Unmerge them in"
            " the spreadsheet program and fill each, or leave them out where they are no part of the table.",
            range=name,
        )


def _refuse_dates_and_numbers(rows: list[list[Cell]], request: SheetRequest) -> None:
    """InvalidTable for a column of dates and numbers: some dates lost their format, and are days since 1900."""
    records = rows[1:] if request.header else rows
    for position, named in enumerate(rows[0] if rows else ()):
        name = str(named).strip() if request.header else f"column_{position + 1}"
        dates = [isinstance(row[position], dt.date) for row in records]
        if not any(dates) or name in request.texts:
            continue
        numbers = [isinstance(row[position], int | float) for row in records]
        fewer = min(dates, numbers, key=sum)
        found = [at + 1 for at, one in enumerate(fewer) if one][:MOST_NAMED]
        others = sum(row[position] not in ("", None) for row in records)
        if found and sum(dates) + sum(numbers) == others:
            raise InvalidTable(
                f"Column {name!r} holds dates and numbers, {'dates' if fewer is dates else 'numbers'} in row"
                f" {', '.join(map(str, found))}: give all its cells one format in the spreadsheet program, or"
                f' say columns={{"{name}": "categorical"}} to have them read as text.',
                column=name,
                row=found[0],
                rows=found if len(found) > 1 else None,
            )


def _summary(
    sheet: Sheet, layout: SheetLayout, header_rows: int, missing: Sequence[str]
) -> SheetSummary:
    records = list(sheet.records(header_rows))
    hidden = [at for at, _ in records if at in layout.hidden_rows]
    absent = frozenset(numbers_among(missing))
    width = max((len(row) for _, row in records), default=0)
    units: dict[str, dict[str, str]] = {}
    for place in range(width):
        column = sheet.left + place
        if (codes := layout.codes.get(column)) is not None:
            found: dict[int, int] = {}
            for at, row in records:
                if type(row[place]) in (int, float) and row[place] not in absent:
                    found.setdefault(codes[at], at)
            units[str(place)] = {
                layout.units[code]: cell_name(at, column) for code, at in found.items()
            }
    return SheetSummary(
        name=sheet.name,
        visible=sheet.visible,
        hidden_rows=len(hidden),
        hidden_row=hidden[0] + 1 if hidden else 0,
        hidden_columns=[p for p in range(width) if sheet.left + p in layout.hidden_columns],
        units=units,
    )


def _write(rows: list[list[Cell]], out: TextIO) -> None:
    """The rows as CSV, without the empty columns behind the last."""
    width = max(
        position + 1 for row in rows for position, cell in enumerate(row) if cell not in ("", None)
    )
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        texts = [_text(cell) for cell in row[:width]]
        # In a table of one column an empty line would be skipped.
        writer.writerow([*texts, *[""] * (width - len(texts))])


def _text(cell: Cell) -> str:
    match cell:
        case bool():
            return str(cell).lower()
        case float():
            return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
        case dt.datetime() if cell.time() == dt.time():
            return cell.date().isoformat()
        case dt.datetime() | dt.date() | dt.time():
            return cell.isoformat()
        case dt.timedelta():
            return _duration(cell)
        case _:
            return "" if cell is None else str(cell)


def _duration(cell: dt.timedelta) -> str:
    """Hours, minutes and seconds, as a sheet shows a duration of more than a day."""
    seconds = round(abs(cell).total_seconds())
    sign = "-" if cell < dt.timedelta() else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


if __name__ == "__main__":
    main()
