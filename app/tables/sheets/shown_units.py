"""The unit that the numbers of a column are shown in: one for all of them, or the column is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.model import Storage
from app.tables.dialect.spelling import CURRENCY_OR_PERCENT
from app.tables.sheets.number_formats import SHARE
from app.tables.sheets.sheet import Cell, Sheet, cell_name
from app.tables.sheets.shown import Shown
from app.tables.stream import TableColumn
from app.tables.values.units import PLAIN, different_units

READ_IN_TEXTS = re.compile(CURRENCY_OR_PERCENT)
LONGEST_UNIT = 8
"""A longer text of a number format may be anything: it is not repeated."""


def with_units(
    columns: Sequence[TableColumn],
    sheet: Sheet,
    shown: Shown,
    header_rows: int,
    missing: Sequence[str],
) -> tuple[TableColumn, ...]:
    """The columns with the units that their numbers are shown in; InvalidTable for several in one column."""
    absent = frozenset(_numbers(missing))
    records = list(sheet.records(header_rows)) if shown.codes else []
    return tuple(
        _with_unit(column, place, sheet, shown, records, absent)
        if column.storage is Storage.NUMBER and sheet.left + place in shown.codes
        else column
        for place, column in enumerate(columns)
    )


def _with_unit(
    column: TableColumn,
    place: int,
    sheet: Sheet,
    shown: Shown,
    records: Sequence[tuple[int, list[Cell]]],
    absent: frozenset[float],
) -> TableColumn:
    codes = shown.codes[sheet.left + place]
    seen: dict[int, int] = {}
    for at, row in records:
        if _is_number(row[place], absent):
            seen.setdefault(codes[at], at)
    units = {shown.units[code]: at for code, at in seen.items()}
    if len(units) > 1:
        raise different_units(
            column.name,
            {
                _told(unit): f"in cell {cell_name(at, sheet.left + place)}"
                for unit, at in units.items()
            },
            remedy="give all cells of the column one number format in the spreadsheet program",
        )
    unit = next(iter(units), PLAIN)
    if unit == PLAIN:
        return column
    note = (
        "Its cells are shown as percent: 12.3 % is kept as 0.123, as the workbook has it."
        if unit == SHARE
        else f"Its cells are shown with {_told(unit)}, which was left out."
    )
    # Only what a text can have is kept: rows to come may be texts.
    kept = unit if READ_IN_TEXTS.fullmatch(unit) else PLAIN
    return replace(column, unit=kept, note=" ".join(filter(None, (column.note, note))))


def _is_number(cell: Cell, absent: frozenset[float]) -> bool:
    return type(cell) in (int, float) and cell not in absent


def _numbers(missing: Sequence[str]) -> Iterator[float]:
    for token in missing:
        try:
            yield float(token)
        except ValueError:
            continue


def _told(unit: str) -> str:
    return unit if unit == SHARE or len(unit) <= LONGEST_UNIT else "a text"
