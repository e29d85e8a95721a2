"""A workbook of the binary kind (xlsb), written record by record: no library here writes one."""

from __future__ import annotations

import io
import struct
import zipfile

PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
ROW, NUMBER, TEXT = 0x00, 0x05, 0x06
BOOK, END_BOOK, SHEET_LIST, END_SHEET_LIST, SHEET_OF_LIST = 0x83, 0x84, 0x8F, 0x90, 0x9C
SHEET, END_SHEET, ROWS, END_ROWS, DIMENSION, CALCULATION = 0x81, 0x82, 0x91, 0x92, 0x94, 0x9D

Cells = dict[tuple[int, int], float | str]


def binary_workbook(cells: Cells) -> bytes:
    """One sheet with these cells, by row and column from 0."""
    listed = struct.pack("<II", 0, 1) + _text("rId1") + _text("people")
    book = b"".join(
        [
            _record(BOOK),
            _record(SHEET_LIST),
            _record(SHEET_OF_LIST, listed),
            _record(END_SHEET_LIST),
            _record(CALCULATION, bytes(26)),
            _record(END_BOOK),
        ]
    )
    relation = (
        f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1"'
        f' Type="{OFFICE}/worksheet" Target="worksheets/sheet1.bin"/></Relationships>'
    )
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{PACKAGE}/content-types"/>')
        archive.writestr("xl/_rels/workbook.bin.rels", relation)
        archive.writestr("xl/workbook.bin", book)
        archive.writestr("xl/worksheets/sheet1.bin", _sheet(cells))
    return sink.getvalue()


def _sheet(cells: Cells) -> bytes:
    records = [_record(SHEET), _record(DIMENSION, struct.pack("<IIII", 0, 1, 0, 1)), _record(ROWS)]
    for row in sorted({row for row, _ in cells}):
        records.append(_record(ROW, struct.pack("<III", row, 0, 0) + bytes(5)))
        for column in sorted(column for at, column in cells if at == row):
            value, place = cells[row, column], struct.pack("<II", column, 0)
            if isinstance(value, str):
                records.append(_record(TEXT, place + _text(value)))
            else:
                records.append(_record(NUMBER, place + struct.pack("<d", value)))
    return b"".join([*records, _record(END_ROWS), _record(END_SHEET)])


def _record(kind: int, content: bytes = b"") -> bytes:
    marked = bytes([kind]) if kind < 0x80 else bytes([kind & 0x7F | 0x80, kind >> 7])
    return marked + bytes([len(content)]) + content


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")
