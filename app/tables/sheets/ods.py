"""What an ods workbook says beside values: units, merged cells, hidden rows and columns.

Cells have no names there. Rows and cells that are alike stand once, with how often they come.
"""

from __future__ import annotations

import zipfile

from app.tables.sheets.layout import SheetLayout
from app.tables.sheets.number_formats import SHARE
from app.tables.sheets.xml_walk import Attributes, local, walk
from app.tables.values.units import PLAIN

CONTENT = "content.xml"
CELLS = ("table-cell", "covered-table-cell")
UNSEEN = ("collapse", "filter")
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "INR": "₹"}
MOST_REPEATED = 2**30


def read_ods_layout(archive: zipfile.ZipFile, sheet: str, layout: SheetLayout) -> None:
    """Fill in what the sheet of that name shows."""
    cells = _Cells(sheet, layout)
    with archive.open(CONTENT) as file:
        walk(file, cells.opened, cells.closed)


class _Cells:
    """Where a walk through the elements stands.

    where:
        depth          tables around the element: one inside another is a cell's own
        row, column    of the next row and the next cell
        column_styles  the next column of which something is said
        repeated       how often the present row comes
    """

    def __init__(self, sheet: str, layout: SheetLayout) -> None:
        self._sheet = sheet
        self._layout = layout
        self._depth = 0
        self._here = False
        self._row = self._column = self._column_styles = 0
        self._repeated = 0

    def closed(self, tag: str) -> None:
        self._depth -= tag == "table"

    def opened(self, tag: str, attributes: Attributes) -> None:
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                self._here = local(attributes).get("name") == self._sheet
        if not self._here or self._depth != 1:
            return
        said = local(attributes)
        if tag in CELLS:
            self._cell(said)
        elif tag == "table-row":
            self._row += self._repeated
            self._repeated = _count(said, "number-rows-repeated")
            self._column = 0
            if said.get("visibility") in UNSEEN:
                self._layout.hidden_rows.update(self._present_rows())
        elif tag == "table-column":
            after = self._column_styles + _count(said, "number-columns-repeated")
            if said.get("visibility") in UNSEEN:
                self._layout.hide_columns(self._column_styles, after)
            self._column_styles = after

    def _cell(self, said: Attributes) -> None:
        """Take note of a cell, or of as many as are alike."""
        first, self._column = self._column, self._column + _count(said, "number-columns-repeated")
        down, right = _count(said, "number-rows-spanned"), _count(said, "number-columns-spanned")
        if down > 1 or right > 1:
            last = (self._row + down - 1, first + right - 1)
            self._layout.merged.append(((self._row, first), last))
        if (unit := _unit(said)) != PLAIN:
            code = self._layout.code(unit)
            for column in range(first, min(self._column, self._layout.columns)):
                for row in self._present_rows():
                    self._layout.mark(row, column, code)

    def _present_rows(self) -> range:
        return range(self._row, min(self._row + self._repeated, self._layout.rows))


def _count(said: Attributes, name: str) -> int:
    return min(int(said.get(name, "1")), MOST_REPEATED)


def _unit(said: Attributes) -> str:
    match said.get("value-type"):
        case "percentage":
            return SHARE
        case "currency":
            told = said.get("currency", "")
            return SIGNS.get(told, told)
        case _:
            return PLAIN
