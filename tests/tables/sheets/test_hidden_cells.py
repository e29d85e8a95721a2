"""What a person does not see in a sheet is read, and told with its number and its names."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from app.model import Notice
from tests.tables.sheets.workbooks import ods, ods_row, saved, stream_of, xlsx

NUMBERS: list[list[object]] = [[one + 0.5, one * one, 30 + one] for one in range(6)]
ROWS: list[list[object]] = [["n", "pay", "age"], *NUMBERS]


def notices(body: bytes, folder: Path) -> dict[str, Notice]:
    with stream_of(body, folder) as stream:
        assert sum(batch.num_rows for batch in stream.batches) == 6
        return {notice.type: notice for notice in stream.notices}


def hiding(rows: tuple[int, ...] = (), columns: str = "") -> bytes:
    def hide(sheet: Worksheet) -> None:
        for row in rows:
            sheet.row_dimensions[row].hidden = True
        for letter in columns:
            sheet.column_dimensions[letter].hidden = True

    return xlsx(ROWS, hide)


def test_hidden_rows_are_told_with_their_number(tmp_path: Path) -> None:
    told = notices(hiding((3, 4, 6)), tmp_path)
    assert list(told) == ["hidden-rows"]
    assert "3 rows, the first of them row 3 of the sheet" in told["hidden-rows"].detail
    assert "1 row, row 7 of the sheet" in notices(hiding((7,)), tmp_path)["hidden-rows"].detail


def test_hidden_columns_are_told_with_their_names(tmp_path: Path) -> None:
    told = notices(hiding(columns="BC"), tmp_path)
    assert list(told) == ["hidden-columns"]
    assert "the columns 'pay', 'age'." in told["hidden-columns"].detail
    one = notices(hiding(columns="B"), tmp_path)["hidden-columns"]
    assert (one.column, "the column 'pay'." in one.detail) == ("pay", True)


@pytest.mark.parametrize("body", [hiding(), hiding((1, 12)), hiding(columns="F")])
def test_what_is_hidden_beside_the_rows_is_nobodys_data(body: bytes, tmp_path: Path) -> None:
    assert notices(body, tmp_path) == {}


def test_many_hidden_columns_are_not_all_named(tmp_path: Path) -> None:
    def hide(sheet: Worksheet) -> None:
        for letter in "ABCDEFGHIJKL":
            sheet.column_dimensions[letter].hidden = True

    body = xlsx([[f"c{one}" for one in range(14)], *([one + 0.5] * 14 for one in range(6))], hide)
    detail = notices(body, tmp_path)["hidden-columns"].detail
    assert "'c9' and 2 others." in detail
    assert "c10" not in detail


def test_a_hidden_sheet_is_told(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.create_sheet("kept back")
    for row in ROWS:
        sheet.append(row)
    assert notices(saved(book), tmp_path) == {}
    sheet.sheet_state = "hidden"
    told = notices(saved(book), tmp_path)
    assert list(told) == ["hidden-sheet"]
    assert "'kept back'" in told["hidden-sheet"].detail


def test_hidden_rows_and_columns_of_an_ods_are_told(tmp_path: Path) -> None:
    unseen = 'table:visibility="{}"'
    rows = [
        ods_row("n", "pay"),
        ods_row(0.5, 1, said=unseen.format("filter")),
        '<table:table-row table:number-rows-repeated="3" table:visibility="collapse">'
        '<table:table-cell office:value-type="float" office:value="2.5"'
        ' table:number-columns-repeated="2"/></table:table-row>',
        ods_row(1.5, 7),
        ods_row(2.5, 8),
        f'<table:table-row table:number-rows-repeated="1048570" {unseen.format("filter")}>'
        "<table:table-cell/></table:table-row>",
    ]
    columns = f"<table:table-column/><table:table-column {unseen.format('collapse')}/>"
    told = notices(ods(rows, columns, "R&amp;D"), tmp_path)
    assert "4 rows, the first of them row 2 of" in told["hidden-rows"].detail
    assert told["hidden-columns"].column == "pay"
