"""A workbook of before 2007 (xls), written record by record: no library here writes one.

The records of the workbook (BIFF8) are one stream of a compound file: sectors of 512 bytes, a table that
chains them, and a directory that names the stream.
"""

from __future__ import annotations

import struct

from tests.tables.binary_workbook import Cells

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
SECTOR, SMALLEST_STREAM = 512, 4096
FREE, END_OF_CHAIN, TABLE_SECTOR, NOBODY = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
BEGIN, END, SHEET_OF_LIST, NUMBER, TEXT, MERGED = 0x0809, 0x000A, 0x0085, 0x0203, 0x0204, 0x00E5
BOOK, SHEET, BIFF8 = 0x0005, 0x0010, 0x0600


def old_workbook(cells: Cells, *merged: tuple[int, int, int, int]) -> bytes:
    """One sheet with these cells, by row and column from 0; first and last row and column are merged."""
    begin = _record(BEGIN, struct.pack("<HHHHII", BIFF8, BOOK, 0, 0, 0, 0))
    name = struct.pack("<BB", 6, 0) + b"people"
    length = len(begin) + len(_record(SHEET_OF_LIST, bytes(6) + name)) + len(_record(END))
    listed = _record(SHEET_OF_LIST, struct.pack("<IH", length, 0) + name)
    return _compound(begin + listed + _record(END) + _sheet(cells, merged))


def _sheet(cells: Cells, merged: tuple[tuple[int, int, int, int], ...]) -> bytes:
    records = [_record(BEGIN, struct.pack("<HHHHII", BIFF8, SHEET, 0, 0, 0, 0))]
    for (row, column), value in sorted(cells.items()):
        place = struct.pack("<HHH", row, column, 0)
        if isinstance(value, str):
            text = struct.pack("<HB", len(value), 1) + value.encode("utf-16-le")
            records.append(_record(TEXT, place + text))
        else:
            records.append(_record(NUMBER, place + struct.pack("<d", value)))
    if merged:
        ranges = b"".join(struct.pack("<HHHH", *one) for one in merged)
        records.append(_record(MERGED, struct.pack("<H", len(merged)) + ranges))
    return b"".join([*records, _record(END)])


def _record(kind: int, content: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def _compound(stream: bytes) -> bytes:
    """A compound file with this one stream: sector 0 is the table, sector 1 the directory."""
    stream = stream.ljust(SMALLEST_STREAM, b"\0")
    sectors = -(-len(stream) // SECTOR)
    chain = [TABLE_SECTOR, END_OF_CHAIN, *range(3, 2 + sectors), END_OF_CHAIN]
    assert len(chain) <= SECTOR // 4
    header = SIGNATURE + bytes(16)
    header += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack(
        "<IIIIIIIII", 0, 1, 1, 0, SMALLEST_STREAM, END_OF_CHAIN, 0, END_OF_CHAIN, 0
    )
    header += struct.pack("<109I", 0, *[FREE] * 108)
    table = struct.pack(f"<{SECTOR // 4}I", *chain, *[FREE] * (SECTOR // 4 - len(chain)))
    directory = _entry("Root Entry", 5, 1, END_OF_CHAIN, 0)
    directory += _entry("Workbook", 2, NOBODY, 2, len(stream))
    return header + table + directory.ljust(SECTOR, b"\0") + stream.ljust(sectors * SECTOR, b"\0")


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    written = (name + "\0").encode("utf-16-le")
    return (
        written.ljust(64, b"\0")
        + struct.pack("<HBBIII", len(written), kind, 1, NOBODY, NOBODY, child)
        + bytes(36)
        + struct.pack("<IQ", start, size)
    )
