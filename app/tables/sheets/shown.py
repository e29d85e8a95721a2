"""What the file of a sheet (xlsx) says beside values: the unit of each cell, hidden rows and columns.

The file is walked tag by tag in pieces, and nothing is kept but a byte for each cell of a column in
which some cell has a unit.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO

from app.tables.sheets.far_apart import column_number
from app.tables.sheets.number_formats import units_of_styles
from app.tables.sheets.unsaved_formulas import sheet_files
from app.tables.values.units import PLAIN

CHUNK_BYTES = 2**20
STYLES = "xl/styles.xml"
MOST_UNITS = 256

ROW_OR_COLUMN = re.compile(rb"<(?:\w+:)?(?:row\b(?P<row>[^<>]*)|col\b(?P<col>[^<>]*))>")
ROW_COLUMN_OR_CELL = re.compile(
    rb"<(?:\w+:)?(?:"
    rb"""c\b(?:\sr="([A-Z]{1,3})\d{1,7}")?(?:\ss="(\d{1,9})")?(?P<c>[^<>]*)"""
    rb"|row\b(?P<row>[^<>]*)|col\b(?P<col>[^<>]*))>"
)
"""With place and style of a cell where nearly all programs write them, since looking again takes longer."""

STYLE = re.compile(rb"""\bs\s*=\s*["'](\d{1,9})["']""")
CELL_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]{1,3})\d""")
ROW_PLACE = re.compile(rb"""\br\s*=\s*["'](\d{1,7})["']""")
FIRST_COLUMN = re.compile(rb"""\bmin\s*=\s*["'](\d{1,7})["']""")
LAST_COLUMN = re.compile(rb"""\bmax\s*=\s*["'](\d{1,7})["']""")
HIDDEN = re.compile(rb"""\bhidden\s*=\s*["'](?:1|true)["']""")


@dataclass(frozen=True, repr=False)
class Shown:
    """What a sheet shows, by rows and columns of the whole sheet, from 0.

    where:
        rows   the rows that are looked at: those before the end of the table
        units  the units that cells have, the first of them `PLAIN`
        codes  column → for each row the place of its unit in `units`; columns without any are left out
    """

    rows: int
    columns: int
    units: list[str] = field(default_factory=lambda: [PLAIN])
    codes: dict[int, bytearray] = field(default_factory=dict)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)

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


def shown_in_xlsx(content: bytes, sheet: int, rows: int, columns: int) -> Shown:
    """What the sheet of that number shows in its first rows and columns."""
    shown = Shown(rows, columns)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = sheet_files(archive, sheet)
        if len(files) != 1:
            return shown
        units = units_of_styles(archive.read(STYLES)) if STYLES in archive.namelist() else []
        coded = {
            b"%d" % style: shown.code(unit) for style, unit in enumerate(units) if unit != PLAIN
        }
        with archive.open(files[0]) as file:
            _walk(file, coded, shown)
    return shown


def _walk(file: IO[bytes], coded: Mapping[bytes, int], shown: Shown) -> None:
    row = column = -1
    tags = ROW_COLUMN_OR_CELL if coded else ROW_OR_COLUMN
    for piece in whole_tags(file):
        for tag in tags.finditer(piece):
            match tag.lastgroup:
                case "c":
                    column += 1
                    _see_cell(tag, coded, shown, row, column)
                case "row":
                    said = ROW_PLACE.search(tag["row"])
                    row, column = row + 1 if said is None else int(said[1]) - 1, -1
                    if row < shown.rows and HIDDEN.search(tag["row"]):
                        shown.hidden_rows.add(row)
                case _:
                    _see_column(tag["col"], shown)


def _see_cell(
    tag: re.Match[bytes], coded: Mapping[bytes, int], shown: Shown, row: int, column: int
) -> None:
    """Take note of the unit of a cell, which stands in `column` unless it says where."""
    letters, style, others = tag.group(1, 2, 3)
    if style is None:
        said = STYLE.search(others)
        style = b"0" if said is None else said[1]
    if code := coded.get(style):
        if letters is None and (named := CELL_PLACE.search(others)) is not None:
            letters = named[1]
        shown.mark(row, column if letters is None else column_number(letters) - 1, code)


def _see_column(attributes: bytes, shown: Shown) -> None:
    first, last = FIRST_COLUMN.search(attributes), LAST_COLUMN.search(attributes)
    if first is not None and last is not None and HIDDEN.search(attributes):
        shown.hidden_columns.update(range(int(first[1]) - 1, min(int(last[1]), shown.columns)))


def whole_tags(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file in pieces that never end inside a tag."""
    rest: list[bytes] = []
    while data := file.read(CHUNK_BYTES):
        end = data.rfind(b">") + 1
        if end:
            yield b"".join((*rest, data[:end]))
            rest = []
        rest.append(data[end:])
