"""Whether the cells of a workbook (xlsx) lie so far apart that nobody could hold what is between them.

The reader of workbooks holds a sheet as a rectangle. Two cells at opposite corners of a sheet are a few
bytes in the file and a hundred gigabytes as a rectangle, and the process ends when it asks for them.
"""

from __future__ import annotations

import io
import re
import zipfile
from functools import lru_cache

SHEETS = "xl/worksheets/"
FREE_CELLS = 1_000_000
"""A rectangle of so many cells is always held: about 32 MB."""

BYTES_PER_CELL = 4
"""A cell that is there takes 20 bytes or more: four of five may be empty."""

REFERENCE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]{0,9})([0-9]{1,19})["']""")
ROW, CELL = re.compile(rb"<(?:\w+:)?row\b"), re.compile(rb"<(?:\w+:)?c\b")


def cells_lie_far_apart(content: bytes) -> bool:
    """Whether a sheet's rectangle is larger than its bytes could fill."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return any(
            _rectangle(sheet) > max(FREE_CELLS, len(sheet) // BYTES_PER_CELL)
            for name in archive.namelist()
            if name.lower().startswith(SHEETS)
            for sheet in [archive.read(name)]
        )


def _rectangle(sheet: bytes) -> int:
    """Rows by columns up to the last that is named, or counted where cells have no names."""
    rows, columns = len(ROW.findall(sheet)), 0
    for letters, digits in REFERENCE.findall(sheet):
        rows = max(rows, int(digits))
        columns = max(columns, column_number(letters))
    for row in ROW.split(sheet):
        columns = max(columns, len(CELL.findall(row)))
    return rows * columns


@lru_cache(2**15)
def column_number(letters: bytes) -> int:
    """The number of a column by its letters, A is 1."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number
