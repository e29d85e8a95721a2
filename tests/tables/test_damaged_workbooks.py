"""Workbooks that `make trials` found: cells at the corners of a sheet, names that are no names."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import openpyxl
import pytest

from app.errors import InvalidTable, TooLarge, UnsupportedMediaType
from app.model import Limits
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import AUTOMATIC
from tests.tables.binary_workbook import Cells, binary_workbook
from tests.tables.old_workbook import old_workbook

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def workbook(*far: str) -> bytes:
    """A table of two columns, and further cells at these places."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["age", "income"], [1, 2.5], [2, 3.5], [3, 1.5]):
        sheet.append(row)
    for place in far:
        sheet[place] = 7
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def rewritten(content: bytes, old: bytes, new: bytes) -> bytes:
    """The workbook with its sheets changed."""
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(sink, "w") as after:
        for name in before.namelist():
            inner = before.read(name)
            after.writestr(name, inner.replace(old, new) if "worksheets" in name else inner)
    return sink.getvalue()


def rows_of(content: bytes, folder: Path) -> int:
    with open_table(TableSource(io.BytesIO(content), XLSX), AUTOMATIC, Limits(), folder) as stream:
        return sum(batch.num_rows for batch in stream.batches)


@pytest.mark.parametrize(
    "content",
    [
        workbook("XFD1048576"),
        workbook("B900000", "AAA1"),
        rewritten(workbook(), b'r="A2"', b'r="FJC1048000"'),
    ],
)
def test_cells_that_lie_far_apart_are_refused_before_anything_is_made_room_for(
    content: bytes, tmp_path: Path
) -> None:
    with pytest.raises(InvalidTable, match=r"far apart"):
        rows_of(content, tmp_path)


def test_a_row_below_the_last_that_a_sheet_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidTable, match=r"well-formed"):
        rows_of(rewritten(workbook(), b'<row r="2"', b'<row r="999999999999"'), tmp_path)


def test_a_table_that_begins_far_down_is_read(tmp_path: Path) -> None:
    assert rows_of(workbook(), tmp_path) == 3
    moved = workbook()
    for row in range(1, 5):
        for old, new in ((f'"{row}"', f'"{row + 200_000}"'), *cells(row)):
            moved = rewritten(moved, old.encode(), new.encode())
    assert rows_of(moved, tmp_path) == 3


BINARY: Cells = {
    (0, 0): "age",
    (0, 1): "income",
    (1, 0): 1.0,
    (1, 1): 2.5,
    (2, 0): 2.0,
    (2, 1): 3.5,
}


def test_a_binary_workbook_is_read_unless_a_cell_of_it_lies_far_away(tmp_path: Path) -> None:
    assert rows_of(binary_workbook(BINARY), tmp_path) == 2
    with pytest.raises(InvalidTable, match=r"far apart"):
        rows_of(binary_workbook({**BINARY, (1_048_575, 16_383): 7.0}), tmp_path)


def test_an_old_workbook_is_read_unless_a_cell_of_it_lies_far_away(tmp_path: Path) -> None:
    assert rows_of(old_workbook(BINARY), tmp_path) == 2
    # More columns than the format has: the reader would ask for 128 gigabytes, and end the process.
    with pytest.raises(InvalidTable, match=r"far apart"):
        rows_of(old_workbook({**BINARY, (65_535, 65_535): 7.0}), tmp_path)


def test_an_old_workbook_on_which_its_reader_panics_is_refused(tmp_path: Path) -> None:
    # Cut off inside the directory of its streams.
    with pytest.raises(InvalidTable):
        rows_of(old_workbook(BINARY)[:1057], tmp_path)


LIST_ENTRY = b"PK\x01\x02"


@pytest.mark.parametrize("flag", [0x01, 0x20, 0x40])
def test_a_workbook_whose_sheet_is_said_to_be_encrypted_or_patched_is_refused(
    flag: int, tmp_path: Path
) -> None:
    content = bytearray(workbook())
    entry = content.rindex(LIST_ENTRY, 0, content.rindex(b"xl/worksheets/sheet1.xml"))
    content[entry + 8] |= flag
    with pytest.raises(UnsupportedMediaType, match=r"encrypted"):
        rows_of(bytes(content), tmp_path)


def test_a_folder_of_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    sink = io.BytesIO(workbook())
    with zipfile.ZipFile(sink, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/x", bytes(100 * 2**20))
    # A name that ends so is a folder's; whoever asks for it by its name gets its bytes.
    content = sink.getvalue().replace(b"xl/worksheets/x", b"xl/worksheets//")
    with pytest.raises(TooLarge):
        rows_of(content, tmp_path)


def cells(row: int) -> list[tuple[str, str]]:
    return [(f'"{column}{row}"', f'"{column}{row + 200_000}"') for column in "AB"]


@pytest.mark.parametrize("name", [b"\xff\xfe.csv", b""])
def test_an_archive_with_a_name_that_is_none_is_refused(name: bytes, tmp_path: Path) -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("é.csv", b"a,b\n1,2\n")  # a name that is written as UTF-8
    content = sink.getvalue()
    named = "é.csv".encode()
    if name:
        content = content.replace(named, name)
    else:
        # In the list of contents alone, where the length of the name becomes nothing.
        at = content.index(b"PK\x01\x02")
        content = content[: at + 28] + b"\0\0" + content[at + 30 :]
    with pytest.raises(InvalidTable, match=r"zip archive"):
        rows_of(content, tmp_path)
