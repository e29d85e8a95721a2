"""Numbers of one column that a sheet shows in several units are refused with a cell of each."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from app.errors import InvalidTable
from app.model import Storage
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import Header, ReadOptions
from tests.tables.sheets.workbooks import ods, ods_row, stream_of, xlsx
from tests.tables.table_bodies import LIMITS

EURO, DOLLAR, SHARE = '#,##0.00\\ "€"', '"$"#,##0.00', "0.0%"
EUR = 'office:value-type="currency" office:currency="EUR"'
USD = 'office:value-type="currency" office:currency="USD"'
PERCENTAGE = 'office:value-type="percentage"'


def column(*cells: object) -> bytes:
    return xlsx([["n", "p"], *([one + 0.5, cell] for one, cell in enumerate(cells))])


def ods_column(*cells: object) -> bytes:
    rows = [ods_row(one + 0.5, cell) for one, cell in enumerate(cells)]
    return ods([ods_row("n", "p"), *rows])


MIXED = {
    "two currencies": (column((5, EURO), (6, EURO), (7, DOLLAR)), "€ in cell B2, $ in cell B4"),
    "a plain zero": (column((5, EURO), 0), "€ in cell B2, none in cell B3"),
    "a pound below": (column(5.5, (6, '"£"0')), "none in cell B2, £ in cell B3"),
    "percent": (column((0.123, SHARE), 12.3), "shown as % in cell B2, none in cell B3"),
    "percent beside its sign": (
        column((0.123, SHARE), (12.3, '0.0"%"')),
        "shown as % in cell B2, % in cell B3",
    ),
    "weights": (column((5, '0" kg"'), (6, '0" lb"')), "kg in cell B2, lb in cell B3"),
    "texts that may be anything": (
        column((5, '0" as told by her"'), 6),
        "a text in cell B2, none in cell B3",
    ),
    "ods, two currencies": (ods_column((5, EUR), (6, USD)), "€ in cell B2, $ in cell B3"),
    "ods, percent": (ods_column((5, ""), (0.6, PERCENTAGE)), "none in cell B2, shown as %"),
}


@pytest.mark.parametrize(("body", "places"), MIXED.values(), ids=MIXED)
def test_several_units_in_a_column_are_refused(body: bytes, places: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidTable) as refused:
        stream_of(body, tmp_path)
    assert refused.value.fields["column"] == "p"
    assert places in refused.value.detail
    assert "one number format" in refused.value.detail
    assert "told by her" not in refused.value.detail


ALIKE = {
    "euros": (column((5, EURO), (6, "[$€-407]#,##0"), None, (7, "#,##0 €")), "€", "with €"),
    "dollars": (column((5, DOLLAR), (6, '_("$"* #,##0.00_)')), "$", "with $"),
    "shares": (column((0.5, "0%"), (0.25, SHARE)), "", "12.3 % is kept as 0.123"),
    "percent signs": (column((5, '0"%"'), (2.5, '0.0"%"')), "%", "with %"),
    "weights": (column((5, '0" kg"'), (2.5, '0.0 "kg"')), "", "with kg"),
    "plain": (column((5, "0.00"), (2.5, "#,##0.0"), 7), "", None),
    "ods, euros": (ods_column((5, EUR), (6, EUR)), "€", "with €"),
    "ods, shares": (ods_column((0.5, PERCENTAGE), (0.6, PERCENTAGE)), "", "0.123"),
}


@pytest.mark.parametrize(("body", "unit", "note"), ALIKE.values(), ids=ALIKE)
def test_one_unit_is_kept_and_told(
    body: bytes, unit: str, note: str | None, tmp_path: Path
) -> None:
    with stream_of(body, tmp_path) as stream:
        found = stream.columns[1]
    assert (found.storage, found.unit) == (Storage.NUMBER, unit)
    assert found.note is None if note is None else note in (found.note or "")


def test_cells_that_are_missing_have_no_unit(tmp_path: Path) -> None:
    body = column((5, EURO), -999, (7, EURO))
    with pytest.raises(InvalidTable):
        stream_of(body, tmp_path)
    with stream_of(body, tmp_path, ReadOptions(missing=("-999",))) as stream:
        assert [batch.to_pydict()["p"] for batch in stream.batches] == [[5.0, None, 7.0]]
        assert stream.columns[1].unit == "€"


def test_names_that_are_numbers_have_no_unit_unless_they_are_a_row(tmp_path: Path) -> None:
    body = xlsx([["n", 2024], [0.5, (0.5, SHARE)], [1.5, (0.25, SHARE)]])
    with stream_of(body, tmp_path, ReadOptions(header=Header.PRESENT)) as stream:
        assert stream.columns[1].note is not None
    row = xlsx([[1.5, 12.5], [0.5, (0.5, SHARE)]])
    with pytest.raises(InvalidTable, match="none in cell B1, shown as % in cell B2"):
        stream_of(row, tmp_path, ReadOptions(header=Header.ABSENT))


def test_a_column_that_is_read_as_text_has_no_unit(tmp_path: Path) -> None:
    body = column((5, EURO), (6, DOLLAR))
    wished = {"p": Storage.TEXT}
    with open_table(
        TableSource(io.BytesIO(body)), ReadOptions(storage=wished), LIMITS, tmp_path
    ) as stream:
        assert stream.columns[1].unit is None


def test_a_table_that_begins_elsewhere_has_its_cells_named_as_the_sheet_does(
    tmp_path: Path,
) -> None:
    rows: list[list[object]] = [[]] * 3
    body = xlsx([*rows, [None, "n", "p"], [None, 0.5, (5, EURO)], [], [None, 1.5, (6, DOLLAR)]])
    with pytest.raises(InvalidTable, match="€ in cell C5, \\$ in cell C7"):
        stream_of(body, tmp_path)
    skipped = "table:number-columns-repeated='2'"
    above = '<table:table-row table:number-rows-repeated="3"><table:table-cell/></table:table-row>'
    cells = ods(
        [
            above,
            *(ods_row((None, skipped), *row) for row in (["n", "p"], [0.5, (5, EUR)], [1.5, 6])),
        ]
    )
    with pytest.raises(InvalidTable, match="€ in cell D5, none in cell D6"):
        stream_of(cells, tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (rb'<c r="[A-Z]+\d+"', rb"<c"),
        (rb'<c r="([A-Z]+\d+)" s="(\d+)"', rb"<c s='\2' r='\1'"),
        (rb'<c r="A4".*?</c><c r="B4" s="(\d+)"', rb"<c s='\1' r='B4'"),
        (rb"<(/?)(c|row|v)\b", rb"<\1x:\2"),
    ],
    ids=[
        "cells without names",
        "styles before names",
        "the same behind a cell that is not there",
        "names of another space",
    ],
)
def test_the_unit_of_a_cell_is_found_however_it_is_written(
    old: bytes, new: bytes, tmp_path: Path
) -> None:
    content, sink = column((5, EURO), (6, EURO), (7, DOLLAR)), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(sink, "w") as after:
        for name in before.namelist():
            inner = before.read(name)
            if name == "xl/worksheets/sheet1.xml":
                inner, changed = re.subn(old, new, inner)
                assert changed
                inner = inner.replace(
                    b"<worksheet ",
                    b'<worksheet xmlns:x="http://schemas.openxml'
                    b'formats.org/spreadsheetml/2006/main" ',
                )
            after.writestr(name, inner)
    with pytest.raises(InvalidTable, match="€ in cell B2, \\$ in cell B4"):
        stream_of(sink.getvalue(), tmp_path)
