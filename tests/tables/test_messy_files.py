"""Files as people have them are read right or refused with the remedy, never misread."""

from __future__ import annotations

import io
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest

from app.errors import DomainError
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import Decimal, DetectedFormat, Header, ReadOptions
from app.tables.values.dates import detect_date_format, numbers_of
from tests.tables.messy_files import FILES, Messy
from tests.tables.table_bodies import LIMITS


def read_messy(file: Messy, folder: Path) -> tuple[pa.Table, DetectedFormat]:
    said = dict(file.said)
    if "decimal" in said:
        said["decimal"] = Decimal(str(said["decimal"]))
    if "header" in said:
        said["header"] = Header(str(said["header"]))
    params = ReadOptions(**said)  # type: ignore[arg-type]
    with open_table(TableSource(io.BytesIO(file.body)), params, LIMITS, folder) as stream:
        return pa.Table.from_batches(list(stream.batches), stream.schema), stream.read_as


def test_there_are_at_least_sixty_files_with_different_names() -> None:
    assert len({file.name for file in FILES if file.name != "the same, told"}) >= 60


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_messy_file_is_read_right_or_refused_with_the_remedy(file: Messy, tmp_path: Path) -> None:
    if file.columns is None:
        with pytest.raises(DomainError) as refused:
            read_messy(file, tmp_path)
        assert file.remedy in refused.value.detail
        return
    table, read_as = read_messy(file, tmp_path)
    assert table.to_pydict() == file.columns
    assert file.read_as.items() <= asdict(read_as).items()


@pytest.mark.parametrize(
    "cells",
    [
        ["01/22/2020", "22/03/2020"],
        ["22.01.55", "14.03.21"],
        ["2020-05-01T10:00:00+01:00", "2021-12-01T23:59:59+02:00"],
        ["3. März 2020", "4. April 2021"],
        ["31-Dez-20", "01-Jan-21"],
    ],
)
def test_dates_in_forms_that_are_not_read_are_no_categories(cells: list[str]) -> None:
    with pytest.raises(DomainError) as refused:
        detect_date_format("day", pa.array(cells, pa.large_string()), None)
    assert "2024-12-31" in refused.value.detail


@pytest.mark.parametrize(
    ("cells", "numbers", "written"),
    [
        (
            ["2020-05-01T10:00:00Z", "2021-12-01T23:59:59Z"],
            [1588327200, 1638403199],
            "%Y-%m-%dT%H:%M:%SZ",
        ),
        (["2020-05-01 10:00", "2020-05-01 00:00"], [1588327200, 1588291200], "%Y-%m-%d %H:%M"),
        (["31-Dec-20", "01-Jan-21"], [18627, 18628], "%d-%b-%y"),
        (["March 3, 2020", "April 4, 2021"], [18324, 18721], "%b %d, %Y"),
        (["Jan 1 2000", "Feb 1 2000"], [10957, 10988], "%b %d %Y"),
        (
            ["12/31/2020 05:03:00 PM", "01/02/2021 12:00:01 AM"],
            [1609434180, 1609545601],
            "%m/%d/%Y %I:%M:%S %p",
        ),
    ],
)
def test_dates_and_moments_as_tools_write_them(
    cells: list[str], numbers: list[float], written: str
) -> None:
    texts = pa.array(cells, pa.large_string())
    form = detect_date_format("day", texts, None)
    assert form is not None
    assert (numbers_of(texts, form).to_pylist(), form.format) == (numbers, written)


@pytest.mark.parametrize("cells", [["2020-W05", "2020-W06"], ["10:00", "11:30"], ["May", "June"]])
def test_weeks_times_and_months_are_no_dates(cells: list[str]) -> None:
    assert detect_date_format("when", pa.array(cells, pa.large_string()), None) is None


def test_dates_without_marks_are_dates_unless_one_is_none() -> None:
    cells = pa.array(["20200131", "19991224"], pa.large_string())
    form = detect_date_format("day", cells, None)
    assert form is not None
    assert numbers_of(cells, form).to_pylist() == [18_292.0, 10_949.0]
    assert (
        detect_date_format("day", pa.array(["20200231", "20201315"], pa.large_string()), None)
        is None
    )
