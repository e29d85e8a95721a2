"""Layout of an ods sheet: units, merged cells, hidden rows and columns.

Cells have no names there. Rows and cells that are alike stand once, with how often they come.
"""

from __future__ import annotations

import zipfile

from app.tables.sheets.number_formats import SHARE
from app.tables.sheets.sheet import SheetLayout
from app.tables.sheets.xml_walk import Attributes, local, walk
from app.tables.values.units import PLAIN

CONTENT = "content.xml"
CELLS = ("table-cell", "covered-table-cell")
UNSEEN = ("collapse", "filter")
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "INR": "₹"}
MOST_REPEATED = 2**30


def read_ods_layout(archive: zipfile.ZipFile, sheet: str, layout: SheetLayout) -> None:
    """Fill in what the sheet of that name shows."""
    cells = OdsLayoutHandler(sheet, layout)
    with archive.open(CONTENT) as file:
        walk(file, cells.opened, cells.closed)


class OdsLayoutHandler:
    """Handler of the elements of a sheet.

    where:
        depth          tables around the element: one inside another is a cell's own
        row, column    of the next row and the next cell
        column_styles  the next column of which something is attributes
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

    def opened(self, tag: str, raw: Attributes) -> None:
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                self._here = local(raw).get("name") == self._sheet
        if not self._here or self._depth != 1:
            return
        attributes = local(raw)
        if tag in CELLS:
            self._cell(attributes)
        elif tag == "table-row":
            self._row += self._repeated
            self._repeated = _count(attributes, "number-rows-repeated")
            self._column = 0
            if attributes.get("visibility") in UNSEEN:
                self._layout.hidden_rows.update(self._present_rows())
        elif tag == "table-column":
            after = self._column_styles + _count(attributes, "number-columns-repeated")
            if attributes.get("visibility") in UNSEEN:
                self._layout.hide_columns(self._column_styles, after)
            self._column_styles = after

    def _cell(self, attributes: Attributes) -> None:
        """Record a cell, or as many as are alike."""
        first, self._column = (
            self._column,
            self._column + _count(attributes, "number-columns-repeated"),
        )
        down, right = (
            _count(attributes, "number-rows-spanned"),
            _count(attributes, "number-columns-spanned"),
        )
        if down > 1 or right > 1:
            last = (self._row + down - 1, first + right - 1)
            self._layout.merged.append(((self._row, first), last))
        if (unit := _unit(attributes)) != PLAIN:
            code = self._layout.code(unit)
            for column in range(first, min(self._column, self._layout.columns)):
                for row in self._present_rows():
                    self._layout.mark(row, column, code)

    def _present_rows(self) -> range:
        return range(self._row, min(self._row + self._repeated, self._layout.rows))


def _count(attributes: Attributes, name: str) -> int:
    return min(int(attributes.get(name, "1")), MOST_REPEATED)


def _unit(attributes: Attributes) -> str:
    match attributes.get("value-type"):
        case "percentage":
            return SHARE
        case "currency":
            code = attributes.get("currency", "")
            return SIGNS.get(code, code)
        case _:
            return PLAIN
