"""What the file of a sheet (ods) says beside values: units, merged cells, hidden rows and columns.

Cells have no names there. Rows and cells that are alike stand once, with how often they come.
"""

from __future__ import annotations

import html
import io
import re
import zipfile

from app.tables.sheets.number_formats import SHARE
from app.tables.sheets.sheet import Range
from app.tables.sheets.shown import Shown, whole_tags
from app.tables.values.units import PLAIN

CONTENT = "content.xml"
TAG = re.compile(
    rb"<(/?)(?:\w+:)?(table-column|table-row|covered-table-cell|table-cell|table)(?![\w-])([^<>]*)>"
)
ATTRIBUTE = re.compile(
    rb"\b(name|visibility|value-type|currency|number-(?:rows|columns)-(?:repeated|spanned))"
    rb"""\s*=\s*(?:"([^"]*)"|'([^']*)')"""
)
UNSEEN = ("collapse", "filter")
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "INR": "₹"}
MOST_REPEATED = 2**30


def shown_in_ods(content: bytes, sheet: str, rows: int, columns: int) -> tuple[Shown, list[Range]]:
    """What the sheet of that name shows in its first rows and columns, and its merged cells."""
    walk = _Walk(sheet, Shown(rows, columns))
    with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(CONTENT) as file:
        for piece in whole_tags(file):
            for tag in TAG.finditer(piece):
                walk.meet(tag[2], tag[3], closing=bool(tag[1]))
    return walk.shown, walk.merged


class _Walk:
    """Where a walk through the tags stands.

    where:
        depth          tables around the tag: one inside another is a cell's own
        row, column    of the next row and the next cell
        column_styles  the next column of which something is said
        repeated       how often the present row comes
    """

    def __init__(self, sheet: str, shown: Shown) -> None:
        self._sheet = sheet
        self.shown = shown
        self.merged: list[Range] = []
        self._depth = 0
        self._here = False
        self._row = self._column = self._column_styles = 0
        self._repeated = 0

    def meet(self, tag: bytes, attributes: bytes, *, closing: bool) -> None:
        """Go past a tag."""
        if tag == b"table":
            if not attributes.endswith(b"/"):
                self._depth += -1 if closing else 1
            if self._depth == 1 and not closing:
                self._here = html.unescape(_said(attributes).get("name", "")) == self._sheet
            return
        if closing or not self._here or self._depth != 1:
            return
        said = _said(attributes)
        match tag:
            case b"table-column":
                after = self._column_styles + _count(said, "number-columns-repeated")
                if said.get("visibility") in UNSEEN:
                    unseen = range(self._column_styles, min(after, self.shown.columns))
                    self.shown.hidden_columns.update(unseen)
                self._column_styles = after
            case b"table-row":
                self._row += self._repeated
                self._repeated = _count(said, "number-rows-repeated")
                self._column = 0
                if said.get("visibility") in UNSEEN:
                    self.shown.hidden_rows.update(self._present_rows())
            case _:
                self._meet_cell(said)

    def _meet_cell(self, said: dict[str, str]) -> None:
        """Take note of a cell, or of as many as are alike."""
        first, self._column = self._column, self._column + _count(said, "number-columns-repeated")
        down, right = _count(said, "number-rows-spanned"), _count(said, "number-columns-spanned")
        if down > 1 or right > 1:
            last = (self._row + down - 1, first + right - 1)
            self.merged.append(((self._row, first), last))
        if (unit := _unit(said)) != PLAIN:
            code = self.shown.code(unit)
            for column in range(first, min(self._column, self.shown.columns)):
                for row in self._present_rows():
                    self.shown.mark(row, column, code)

    def _present_rows(self) -> range:
        return range(self._row, min(self._row + self._repeated, self.shown.rows))


def _said(attributes: bytes) -> dict[str, str]:
    return {
        name.decode(): (double or single).decode(errors="replace")
        for name, double, single in ATTRIBUTE.findall(attributes)
    }


def _count(said: dict[str, str], name: str) -> int:
    digits = said.get(name, "1")
    return min(int(digits), MOST_REPEATED) if digits.isdecimal() and len(digits) < 20 else 1


def _unit(said: dict[str, str]) -> str:
    match said.get("value-type"):
        case "percentage":
            return SHARE
        case "currency":
            told = said.get("currency", "")
            return SIGNS.get(told, told)
        case _:
            return PLAIN
