"""Workbooks in (xlsx, xlsb, xls, ods): one sheet, written out as CSV and read as that.

A sheet has types cell by cell, not by column, and people put into cells what they put into a CSV:
stray marks, totals, titles. One reader judges both.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

from python_calamine import CalamineError, CalamineWorkbook, SheetVisibleEnum

from app.errors import InvalidParameter, InvalidTable
from app.model import Limits, Storage
from app.tables.dialect.spelling import MISSING_NUMBERS
from app.tables.formats.archive import DAMAGED, Bytes
from app.tables.formats.csv import read_csv
from app.tables.media import Source
from app.tables.sheets.error_cells import failures
from app.tables.sheets.far_apart import cells_lie_far_apart
from app.tables.sheets.hidden_cells import hidden_notices
from app.tables.sheets.merged_cells import refuse_merged
from app.tables.sheets.sheet import Cell, Range, Sheet, is_filled
from app.tables.sheets.shown import Shown, shown_in_xlsx
from app.tables.sheets.shown_ods import shown_in_ods
from app.tables.sheets.shown_units import with_units
from app.tables.sheets.tried_apart import can_be_held
from app.tables.sheets.unsaved_formulas import TOKEN, unsaved_formula
from app.tables.stream import Header, ReadingWishes, TableStream

MOST_ROWS = 5
"""So many rows are named where something is wrong with them."""


def read_workbook(
    content: bytes,
    source: Source,
    limits: Limits,
    wished: Mapping[str, Storage],
    wishes: ReadingWishes,
) -> TableStream:
    """The table in the one sheet that has cells, or in the one that the caller names."""
    try:
        if _too_wide(content, source):
            raise InvalidTable(
                "The cells of a sheet lie too far apart; remove those that stand far away from the "
                "table, or send it as CSV."
            )
        if source is Source.XLSX:
            _refuse_failures(failures(content), wishes.missing)
        book = CalamineWorkbook.from_filelike(io.BytesIO(content))
        sheet = _sheet(book, wishes.sheet)
        if source is Source.XLSX and TOKEN not in wishes.missing and sheet.name:
            _refuse_unsaved(content, sheet, wishes.header)
        shown, merged = _shown(content, source, sheet)
    except (CalamineError, *DAMAGED):
        raise InvalidTable(f"The body is not a complete, well-formed {source} workbook.") from None
    header_rows = 0 if wishes.header is Header.ABSENT else 1
    refuse_merged(sheet, merged, header_rows)
    rows = sheet.rows
    _refuse_dates_and_numbers(rows, wished, wishes.header)
    text = _written(rows)
    if not text:
        raise InvalidTable("The sheet is empty", sheet=sheet.name)
    inner = replace(wishes, delimiter=",", encoding="utf-8")
    stream = read_csv(Bytes(text), limits, wished, inner)
    read_as = replace(
        stream.read_as, format=str(source), encoding=None, delimiter=None, sheet=sheet.name
    )
    return replace(
        stream,
        columns=with_units(stream.columns, sheet, shown, header_rows, wishes.missing),
        read_as=read_as,
        notices=hidden_notices(sheet, shown, stream.columns, header_rows),
    )


def _shown(content: bytes, source: Source, sheet: Sheet) -> tuple[Shown, Sequence[Range]]:
    """What the sheet shows beside values, as far as its format lets it be seen."""
    columns = sheet.left + max(map(len, sheet.cells), default=0)
    match source:
        case Source.XLSX:
            return shown_in_xlsx(content, sheet.number, sheet.bottom, columns), sheet.merged
        case Source.ODS:
            return shown_in_ods(content, sheet.name, sheet.bottom, columns)
        case _:
            return Shown(sheet.bottom, columns), sheet.merged


def _too_wide(content: bytes, source: Source) -> bool:
    """Whether a sheet is larger than anybody could hold."""
    if source is Source.XLSX:
        return cells_lie_far_apart(content)
    return not can_be_held(content)


def _refuse_failures(found: frozenset[str], missing: tuple[str, ...]) -> None:
    """InvalidTable for formulas that failed, unless the sender takes their cells as missing."""
    unsaid = sorted(found - {*MISSING_NUMBERS, *missing})
    if unsaid:
        tokens = "&".join(f"missing={token}" for token in unsaid)
        raise InvalidTable(
            f"Formulas of the workbook failed ({', '.join(unsaid)}). Mend them, or say {tokens} to take"
            " these cells as missing."
        )


def _refuse_unsaved(content: bytes, sheet: Sheet, header: Header | None) -> None:
    """InvalidTable for a formula of the sheet that has no value."""
    place = unsaved_formula(content, sheet.number)
    if place is None:
        return
    cells = sheet.cells
    position = max(place[1] - sheet.left, 0)
    row = sum(map(is_filled, cells[: max(place[0] - sheet.top, 0)]))
    column = f"column_{position + 1}"
    if header is Header.ABSENT:
        row += 1
    elif cells and position < len(cells[0]) and cells[0][position]:
        column = str(cells[0][position])
    raise InvalidTable(
        f"Column {column!r} holds formulas without a value, first in row {row}: no spreadsheet program has"
        " computed them yet. Open the workbook in one and save it, or say"
        f" missing={TOKEN} to take such cells as missing.",
        column=column,
        row=row,
    )


def _sheet(book: CalamineWorkbook, wished: str | None) -> Sheet:
    names = book.sheet_names
    if wished is not None:
        if wished not in names:
            raise InvalidParameter(
                f"The workbook has no sheet of that name; it has {', '.join(names)}.",
                parameter="sheet",
                sheets=names,
            )
        return _read(book, wished)
    filled = [sheet for name in names if (sheet := _read(book, name)).cells]
    if len(filled) > 1:
        told = [sheet.name for sheet in filled]
        raise InvalidParameter(
            f"The workbook has {len(filled)} sheets with cells ({', '.join(told)}); say which one "
            "with the parameter `sheet`.",
            parameter="sheet",
            sheets=told,
        )
    return filled[0] if filled else Sheet(names[0] if names else "", 0, 0, 0, [])


def _read(book: CalamineWorkbook, name: str) -> Sheet:
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


def _refuse_dates_and_numbers(
    rows: list[list[Cell]], wished: Mapping[str, Storage], header: Header | None
) -> None:
    """InvalidTable for a column of dates and numbers: some dates lost their format, and are days since 1900."""
    first = 0 if header is Header.ABSENT else 1
    for position, named in enumerate(rows[0] if rows else ()):
        name = str(named).strip() if first else f"column_{position + 1}"
        dates = [isinstance(row[position], dt.date) for row in rows[first:]]
        if not any(dates) or wished.get(name) is Storage.TEXT:
            continue
        numbers = [isinstance(row[position], int | float) for row in rows[first:]]
        fewer = min(dates, numbers, key=sum)
        found = [at + 1 for at, one in enumerate(fewer) if one][:MOST_ROWS]
        others = sum(row[position] not in ("", None) for row in rows[first:])
        if found and sum(dates) + sum(numbers) == others:
            raise InvalidTable(
                f"Column {name!r} holds dates and numbers, {'dates' if fewer is dates else 'numbers'} in row"
                f" {', '.join(map(str, found))}: give all its cells one format in the spreadsheet program, or"
                f' say columns={{"{name}": "categorical"}} to have them read as text.',
                column=name,
                row=found[0],
                rows=found if len(found) > 1 else None,
            )


def _written(rows: list[list[Cell]]) -> bytes:
    if not rows:
        return b""
    width = max(
        position + 1 for row in rows for position, cell in enumerate(row) if cell not in ("", None)
    )
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, lineterminator="\n")
    for row in rows:
        texts = [_text(cell) for cell in row[:width]]
        # In a table of one column an empty line would be skipped.
        writer.writerow([*texts, *[""] * (width - len(texts))])
    return sink.getvalue().encode()


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
