"""What an xlsx workbook says beside values: units, hidden rows and columns, formulas without a result.

The reader of values gives a cell as empty whose formula failed (#DIV/0!), or was never computed: libraries
that write workbooks leave that to the program that opens them next. That such a cell is missing is for the
sender to say.
"""

from __future__ import annotations

import zipfile
from functools import lru_cache

from app.tables.sheets.layout import SheetLayout
from app.tables.sheets.number_formats import units_of_styles
from app.tables.sheets.xml_walk import Attributes, walk
from app.tables.values.units import PLAIN

WORKBOOK, RELATIONS, STYLES = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/styles.xml"
DIGITS = "0123456789"
TRUE = ("1", "true")
LONGEST_ERROR = 16
MOST_ROWS = 2**20
"""What a sheet has; another number of a row is a lie about where its cells stand."""


def read_xlsx_layout(archive: zipfile.ZipFile, sheet: int, layout: SheetLayout) -> None:
    """Fill in what the sheet of that number shows; LookupError where the workbook does not lead to it."""
    units: list[str] = []
    if STYLES in archive.namelist():
        with archive.open(STYLES) as file:
            units = units_of_styles(file)
    codes = {str(style): layout.code(unit) for style, unit in enumerate(units) if unit != PLAIN}
    cells = _Cells(layout, codes)
    with archive.open(_member(archive, sheet)) as file:
        walk(file, cells.opened, cells.closed, cells.text)


class _Cells:
    """Where a walk through the elements of a sheet stands.

    where:
        style_codes  the style of a cell → the place of its unit in the layout
        kind, formula, value  of the cell: its type, whether it has one, and the beginning of what it shows
        inside       whether the walk is in the value of a cell
    """

    def __init__(self, layout: SheetLayout, style_codes: dict[str, int]) -> None:
        self._layout = layout
        self._style_codes = style_codes
        self._row = self._column = -1
        self._kind: str | None = None
        self._formula = self._inside = False
        self._value = ""

    def opened(self, tag: str, said: Attributes) -> None:
        if tag == "c":
            place = said.get("r")
            self._column = (
                self._column + 1 if place is None else column_number(place.rstrip(DIGITS))
            )
            self._kind, self._formula, self._value = said.get("t"), False, ""
            if code := self._style_codes.get(said.get("s", "0")):
                self._layout.mark(self._row, self._column, code)
        elif tag == "v":
            self._inside = True
        elif tag == "f":
            self._formula = True
        elif tag == "row":
            number = said.get("r")
            self._row, self._column = self._row + 1 if number is None else int(number) - 1, -1
            if self._row >= MOST_ROWS:
                raise ValueError("a row below the last")
            if said.get("hidden") in TRUE and self._row < self._layout.rows:
                self._layout.hidden_rows.add(self._row)
        elif tag == "col" and said.get("hidden") in TRUE:
            self._layout.hide_columns(int(said["min"]) - 1, int(said["max"]))

    def text(self, data: str) -> None:
        if self._inside and len(self._value) < LONGEST_ERROR:
            self._value += data

    def closed(self, tag: str) -> None:
        if tag == "v":
            self._inside = False
        elif tag == "c":
            if self._kind == "e":
                self._layout.errors.add(self._value.strip()[:LONGEST_ERROR])
            # A text is a result, and be it an empty one.
            elif self._formula and self._kind != "str" and not self._value.strip():
                self._layout.unsaved = self._layout.unsaved or (self._row, self._column)


@lru_cache(2**15)
def column_number(letters: str) -> int:
    """The number of a column by its letters, from 0."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - 64
    return number - 1


def _member(archive: zipfile.ZipFile, sheet: int) -> str:
    """The name of the file that a sheet is, as the relations of the workbook have it."""
    ids: list[str] = []
    targets: dict[str, str] = {}

    def found(tag: str, said: Attributes) -> None:
        if tag == "sheet":
            ids.append(next(value for name, value in said.items() if name.endswith(":id")))
        elif tag == "Relationship":
            targets[said["Id"]] = said["Target"]

    for name in (WORKBOOK, RELATIONS):
        with archive.open(name) as file:
            walk(file, found)
    target = targets[ids[sheet]].replace("\\", "/").lstrip("/")
    names = {name.lower(): name for name in archive.namelist()}
    return names.get(f"xl/{target}".lower()) or names[target.lower()]
