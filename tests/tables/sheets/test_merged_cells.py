"""Merged cells are refused where they would be missing cells, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.errors import InvalidTable
from app.tables.stream import Header, ReadOptions
from tests.tables.binary_workbook import Cells
from tests.tables.old_workbook import old_workbook
from tests.tables.sheets.workbooks import ods, ods_row, stream_of, xlsx

ROWS: list[list[object]] = [
    ["city", "n", "p"],
    ["Rome", 1.5, 2],
    [None, 2.5, 3],
    ["Oslo", 3.5, None],
    ["Bonn", 4.5, 7],
]


def merged(*ranges: str) -> bytes:
    def merge(sheet: object) -> None:
        for one in ranges:
            sheet.merge_cells(one)  # type: ignore[attr-defined]

    return xlsx(ROWS, merge)


def down(rows: int, right: int = 1) -> str:
    return f'table:number-rows-spanned="{rows}" table:number-columns-spanned="{right}"'


ODS = ods(
    [
        ods_row("city", "n"),
        '<table:table-row table:number-rows-repeated="2"><table:table-cell office:value-type="float"'
        ' office:value="1.5" table:number-columns-repeated="2"/></table:table-row>',
        ods_row(2.5, 1.5),
        ods_row((3.5, down(2)), 2.5),
        "<table:table-row><table:covered-table-cell/><table:table-cell/></table:table-row>",
    ]
)


XLS: Cells = {(0, 0): "city", (0, 1): "n", (1, 0): "Rome", (1, 1): 1.5, (2, 1): 2.5, (3, 0): "Oslo"}


@pytest.mark.parametrize(
    ("body", "range_"),
    [
        (merged("A2:A3"), "A2:A3"),
        (merged("B4:C4"), "B4:C4"),
        (merged("A1:A2"), "A1:A2"),
        (ODS, "A5:A6"),
        (old_workbook(XLS, (1, 2, 0, 0)), "A2:A3"),
    ],
    ids=["down", "right", "names over a row", "ods", "xls"],
)
def test_merged_cells_of_the_table_are_refused(body: bytes, range_: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidTable) as refused:
        stream_of(body, tmp_path)
    assert refused.value.fields["range"] == range_
    assert f"cells {range_} of the sheet are merged" in refused.value.detail
    assert "Unmerge them" in refused.value.detail
    assert "Rome" not in refused.value.detail


@pytest.mark.parametrize("range_", ["C4:D4", "F2:G9", "A8:C9"])
def test_merged_cells_without_a_value_are_none_of_the_table(range_: str, tmp_path: Path) -> None:
    with stream_of(merged(range_), tmp_path) as stream:
        assert sum(batch.num_rows for batch in stream.batches) == 4


def test_merged_cells_above_the_rows_are_left_to_those_who_judge_names(tmp_path: Path) -> None:
    titled = xlsx([["Report"], *ROWS], lambda sheet: sheet.merge_cells("A1:C1"))
    with pytest.raises(InvalidTable, match="header_row=2"):
        stream_of(titled, tmp_path)
    with stream_of(merged("A1:B1"), tmp_path) as stream:
        assert sum(batch.num_rows for batch in stream.batches) > 0
        assert [notice.type for notice in stream.notices] == ["unnamed-columns"]


def test_the_first_row_is_one_of_the_table_where_there_are_no_names(tmp_path: Path) -> None:
    body = xlsx([[1.5, 2.5], [3.5, None]], lambda sheet: sheet.merge_cells("A1:B1"))
    with pytest.raises(InvalidTable, match="A1:B1"):
        stream_of(body, tmp_path, ReadOptions(header=Header.ABSENT))
