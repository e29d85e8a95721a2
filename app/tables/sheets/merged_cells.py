"""Merged cells below the names of columns: one cell to a person, and missing ones to a reader.

Cells are named as the sheet names them, so that they are found where they have to be mended.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import InvalidTable
from app.tables.sheets.sheet import Range, Sheet, cell_name


def refuse_merged(sheet: Sheet, merged: Sequence[Range], header_rows: int) -> None:
    """InvalidTable for cells below the names that are one cell, of which all but the first would be missing."""
    first_row = next((at for at, _ in sheet.records(header_rows)), sheet.bottom)
    for (top, left), (bottom, right) in merged:
        if (top, left) == (bottom, right) or bottom < first_row or not sheet.has_value(top, left):
            continue
        name = f"{cell_name(top, left)}:{cell_name(bottom, right)}"
        raise InvalidTable(
            f"The cells {name} of the sheet are merged: all but the first would be missing. Unmerge them in"
            " the spreadsheet program and fill each, or leave them out where they are no part of the table.",
            range=name,
        )
