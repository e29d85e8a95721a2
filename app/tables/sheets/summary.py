"""What crosses the border of the process that reads a workbook: a request in, a summary of the sheet out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SheetRequest:
    """Which sheet is to be read, and how.

    where:
        source   xlsx, xlsb, xls or ods
        sheet    the name of the sheet; None for the only one with cells
        header   whether the first row names the columns
        missing  the texts that stand for a missing cell
        texts    names of columns that are read as text
    """

    source: str
    sheet: str | None
    header: bool
    missing: Sequence[str]
    texts: Sequence[str]


@dataclass(frozen=True)
class SheetSummary:
    """What is known of a sheet beside its cells.

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
