"""Workbook parser (xlsx, xlsb, xls, ods): one sheet, extracted as CSV and parsed as that.

A sheet has types cell by cell, not by column, and people put into cells what they put into a CSV: stray marks, totals,
titles.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from app.model import Notice, Storage
from app.tables.bodies.spool import Spool
from app.tables.dialect.number_syntax import MISSING_NUMBERS
from app.tables.media import FileFormat
from app.tables.sheets.number_formats import SHARE
from app.tables.sheets.sandbox import read_sheet
from app.tables.sheets.sheet import SheetRequest, SheetSummary
from app.tables.stream import Header, ReadOptions, TableColumn, TableStream
from app.tables.values.units import CURRENCY_OR_PERCENT, PLAIN, different_units

READ_IN_TEXTS = re.compile(CURRENCY_OR_PERCENT)
LONGEST_UNIT = 8
"""A longer text of a number format may be anything: it is not repeated."""

MOST_NAMES = 10
LEAVE_OUT = "Take out of the file what is not to be part of the data set."


def extract_sheet(
    content: bytes, file_format: FileFormat, options: ReadOptions, spool_folder: Path
) -> tuple[SheetSummary, Spool, ReadOptions]:
    """Return the one sheet that has cells, or the one named, as CSV, and the options to read that with."""
    request = SheetRequest(
        source=str(file_format),
        sheet=options.sheet,
        header=options.header is not Header.ABSENT,
        missing=[*MISSING_NUMBERS, *options.missing],
        texts=[name for name, storage in options.storage.items() if storage is Storage.TEXT],
        header_row=options.header_row,
    )
    summary, text = read_sheet(content, request, spool_folder)
    header = options.header or (Header.PRESENT if options.header_row else None)
    found = replace(options, delimiter=",", encoding="utf-8", header=header, header_row=None)
    return summary, text, found


def with_sheet(stream: TableStream, summary: SheetSummary, file_format: FileFormat) -> TableStream:
    """Return the stream of a sheet with the units in which its cells are shown, and notices on hidden ones."""
    # Not copied: the list is complete once the rows are read.
    stream.notices.extend(_notices(summary, stream.columns))
    return replace(
        stream,
        columns=tuple(
            _with_unit(column, summary.units.get(str(place), {}))
            for place, column in enumerate(stream.columns)
        ),
        read_as=replace(
            stream.read_as,
            format=str(file_format),
            encoding=None,
            delimiter=None,
            sheet=summary.name,
        ),
    )


def _with_unit(column: TableColumn, units: Mapping[str, str]) -> TableColumn:
    """The column with the unit that its numbers are shown in; InvalidTable for several of them."""
    if column.storage is not Storage.NUMBER:
        return column
    if len(units) > 1:
        raise different_units(
            column.name,
            {_shown(unit): f"in cell {cell}" for unit, cell in units.items()},
            remedy="give all cells of the column one number format in the spreadsheet program",
        )
    unit = next(iter(units), PLAIN)
    if unit == PLAIN:
        return column
    note = (
        "Its cells are shown as percent: 12.3 % is kept as 0.123, as the workbook has it."
        if unit == SHARE
        else f"Its cells are shown with {_shown(unit)}, which was left out."
    )
    # Only what a text can have is kept: rows to come may be texts.
    kept = unit if READ_IN_TEXTS.fullmatch(unit) else PLAIN
    return replace(column, unit=kept, note=" ".join(filter(None, (column.note, note))))


def _shown(unit: str) -> str:
    return unit if unit == SHARE or len(unit) <= LONGEST_UNIT else "a text"


def _notices(summary: SheetSummary, columns: Sequence[TableColumn]) -> tuple[Notice, ...]:
    """Notices on hidden rows, columns and a hidden sheet, which are read like all others."""
    found = []
    if not summary.visible:
        found.append(
            Notice(
                "hidden-sheet",
                f"Hidden in the workbook, and read all the same: the sheet {summary.name!r}. {LEAVE_OUT}",
            )
        )
    if summary.hidden_rows:
        rows = "row," if summary.hidden_rows == 1 else "rows, the first of them"
        found.append(
            Notice(
                "hidden-rows",
                f"Hidden or filtered out in the sheet, and read all the same: {summary.hidden_rows} {rows}"
                f" row {summary.hidden_row} of the sheet. {LEAVE_OUT}",
            )
        )
    names = [columns[place].name for place in summary.hidden_columns if place < len(columns)]
    if names:
        told = ", ".join(map(repr, names[:MOST_NAMES]))
        more = f" and {len(names) - MOST_NAMES} others" if len(names) > MOST_NAMES else ""
        found.append(
            Notice(
                "hidden-columns",
                f"Hidden in the sheet, and read all the same: the column"
                f"{'s' if len(names) > 1 else ''} {told}{more}. {LEAVE_OUT}",
                column=names[0] if len(names) == 1 else None,
            )
        )
    return tuple(found)
