"""A sheet as its reader gives it, with its place: what a person sees as B7 is a row and a column of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Cell = str | float | int | bool | dt.date | dt.datetime | dt.time | dt.timedelta | None
Range = tuple[tuple[int, int], tuple[int, int]]
"""First and last row and column, from 0: ((top, left), (bottom, right))."""


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
        for at, row in enumerate(self.cells, start=self.top):
            if is_filled(row):
                header_rows -= 1
                if header_rows < 0:
                    yield at, row

    def has_value(self, row: int, column: int) -> bool:
        """Whether something stands in a cell of the whole sheet."""
        if not (self.top <= row < self.bottom and column >= self.left):
            return False
        cells = self.cells[row - self.top]
        return column - self.left < len(cells) and cells[column - self.left] not in ("", None)


def is_filled(row: Sequence[Cell]) -> bool:
    """Whether something stands in a row."""
    return row.count("") + row.count(None) < len(row)


def cell_name(row: int, column: int) -> str:
    """What a spreadsheet program calls a cell: B7 for row 6 and column 1."""
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(65 + letter) + letters
    return f"{letters}{row + 1}"
