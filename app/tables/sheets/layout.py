"""What the file of a sheet says of its cells beside their values."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.tables.sheets.sheet import Range
from app.tables.values.units import PLAIN

MOST_UNITS = 256


@dataclass(repr=False)
class SheetLayout:
    """What a sheet shows, by rows and columns of the whole sheet, from 0.

    where:
        rows, columns  those that are looked at: the ones before the end of the table
        units    the units that cells have, the first of them `PLAIN`
        codes    column → for each row the place of its unit in `units`; columns without any are left out
        merged   ranges of merged cells
        errors   what stands in cells whose formula failed
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
        """Take note of the unit of a cell."""
        if row < self.rows and column < self.columns:
            if column not in self.codes:
                self.codes[column] = bytearray(self.rows)
            self.codes[column][row] = code

    def hide_columns(self, first: int, end: int) -> None:
        """Take note that columns are hidden."""
        self.hidden_columns.update(range(first, min(end, self.columns)))
