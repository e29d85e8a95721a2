"""Sheet of a workbook: cells, layout, summary."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from app.tables.values.units import PLAIN

Cell = str | float | int | bool | dt.date | dt.datetime | dt.time | dt.timedelta | None
Range = tuple[tuple[int, int], tuple[int, int]]
"""First and last row and column, from 0: ((top, left), (bottom, right))."""

MOST_UNITS = 256


@dataclass(frozen=True)
class SheetRequest:
    """Sheet to read, and how.

    where:
        source   xlsx, xlsb, xls or ods
        sheet    the name of the sheet; None for the only one with cells
        header   whether the first row names the columns
        missing  the texts that stand for a missing cell
        texts    names of columns that are read as text
        header_row  the row of the sheet that holds the names; None for the first that has cells
    """

    source: str
    sheet: str | None
    header: bool
    missing: Sequence[str]
    texts: Sequence[str]
    header_row: int | None = None


@dataclass(frozen=True)
class SheetSummary:
    """Summary of a sheet beside its cells.

    where:
        visible         whether the program that shows the workbook shows this sheet
        hidden_rows     how many rows of the table a person does not see
        hidden_row      the number of the first of them in the sheet, from 1
        hidden_columns  positions of the table's columns that a person does not see
        units           position of a column → unit → a cell whose number is shown in it
    """

    name: str
    visible: bool
    hidden_rows: int
    hidden_row: int
    hidden_columns: Sequence[int]
    units: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, repr=False)
class Sheet:
    """The rectangle of a sheet that has cells.

    where:
        number     its place among the sheets of the workbook, from 0
        top, left  row and column of its first cell in the whole sheet, from 0
        cells      its rows, empty ones among them
        merged     ranges of merged cells, in the whole sheet
        visible    whether the program that shows the workbook shows this sheet
    """

    name: str
    number: int
    top: int
    left: int
    cells: Sequence[list[Cell]]
    merged: Sequence[Range] = ()
    visible: bool = True

    @property
    def bottom(self) -> int:
        """The row below the last one, in the whole sheet."""
        return self.top + len(self.cells)

    @property
    def rows(self) -> list[list[Cell]]:
        """The rows that have cells."""
        return [row for row in self.cells if is_filled(row)]

    def records(self, header_rows: int) -> Iterator[tuple[int, list[Cell]]]:
        """The rows that have cells below the header, each with its number in the whole sheet, from 0."""
        filled = ((at, row) for at, row in enumerate(self.cells, self.top) if is_filled(row))
        return islice(filled, header_rows, None)

    def has_value(self, row: int, column: int) -> bool:
        """Return whether a cell of the whole sheet has a value."""
        if not (self.top <= row < self.bottom and column >= self.left):
            return False
        cells = self.cells[row - self.top]
        return column - self.left < len(cells) and cells[column - self.left] not in ("", None)


@dataclass(repr=False)
class SheetLayout:
    """Units, hidden and merged cells of a sheet, by rows and columns of the whole sheet, from 0.

    where:
        rows, columns  those before the end of the table; later ones are left out
        units    the units that cells have, the first of them `PLAIN`
        codes    column → for each row the place of its unit in `units`; columns without any are left out
        merged   ranges of merged cells
        errors   texts in cells whose formula failed
        unsaved  the first cell with a formula that no program has computed yet
    """

    rows: int
    columns: int
    units: list[str] = field(default_factory=lambda: [PLAIN])
    codes: dict[int, bytearray] = field(default_factory=dict)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    merged: list[Range] = field(default_factory=list)
    errors: set[str] = field(default_factory=set)
    unsaved: tuple[int, int] | None = None

    def code(self, unit: str) -> int:
        """The place of a unit in `units`; beyond a byte all are taken for one."""
        if unit not in self.units and len(self.units) < MOST_UNITS:
            self.units.append(unit)
        return self.units.index(unit) if unit in self.units else MOST_UNITS - 1

    def mark(self, row: int, column: int, code: int) -> None:
        """Set the unit of a cell."""
        if row < self.rows and column < self.columns:
            if column not in self.codes:
                self.codes[column] = bytearray(self.rows)
            self.codes[column][row] = code

    def hide_columns(self, first: int, end: int) -> None:
        """Mark columns as hidden."""
        self.hidden_columns.update(range(first, min(end, self.columns)))


def is_filled(row: Sequence[Cell]) -> bool:
    """Return whether a row has a value."""
    return row.count("") + row.count(None) < len(row)


def cell_name(row: int, column: int) -> str:
    """Return a cell's name in a spreadsheet program: B7 for row 6 and column 1."""
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(65 + letter) + letters
    return f"{letters}{row + 1}"
