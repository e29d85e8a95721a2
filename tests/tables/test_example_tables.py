"""Real tables as people might send them: without header, in European dialect, as xlsx."""

from __future__ import annotations

import csv
import io
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from app.errors import InvalidTable
from app.tables.stream import Header, ReadOptions
from papers.experiment import SHARED_DATA
from tests.example_tables import EXAMPLES, as_csv, example
from tests.shared_data import needs
from tests.tables.messy_files import workbook
from tests.tables.table_bodies import read

PUBLISHED = ["ecoli", "ionosphere", "housing", "pima", "casc_census", "wbc", "adult"]
NAMES = [
    *EXAMPLES,
    *(pytest.param(name, marks=needs(f"data/{name}.csv")) for name in PUBLISHED),
]


@cache
def body_of(name: str) -> bytes:
    if name in EXAMPLES:
        return as_csv(example(name))
    return (SHARED_DATA / f"{name}.csv").read_bytes()


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def right_reading(name: str) -> list[list[object]]:
    """The columns as the csv module and float have them."""
    records = list(csv.reader(io.StringIO(body_of(name).decode())))[1:]
    columns: list[list[object]] = []
    for cells in zip(*records, strict=True):
        if all(is_number(cell) for cell in cells if cell != "?"):
            columns.append([None if cell == "?" else float(cell) for cell in cells])
        else:
            columns.append(list(cells))
    return columns


def cells_of(table: pa.Table) -> list[list[object]]:
    return [column.to_pylist() for column in table.columns]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_data_set_is_read_right(name: str, tmp_path: Path) -> None:
    assert cells_of(read(body_of(name), "text/csv", tmp_path)) == right_reading(name)


@pytest.mark.parametrize("name", NAMES)
def test_without_its_header_it_is_refused_until_told(name: str, tmp_path: Path) -> None:
    body = body_of(name).split(b"\n", 1)[1]
    with pytest.raises(InvalidTable, match="header=absent"):
        read(body, "text/csv", tmp_path)
    told = read(body, "text/csv", tmp_path, params=ReadOptions(header=Header.ABSENT))
    assert cells_of(told) == right_reading(name)


@pytest.mark.parametrize("name", NAMES)
def test_in_european_dialect_it_is_read_right(name: str, tmp_path: Path) -> None:
    records = list(csv.reader(io.StringIO(body_of(name).decode())))
    body = "\r\n".join(
        ";".join(cell.replace(".", ",") if is_number(cell) else cell for cell in record)
        for record in records
    )
    assert cells_of(read(body.encode("utf-16"), "text/csv", tmp_path)) == right_reading(name)


@pytest.mark.parametrize("name", NAMES)
def test_as_a_workbook_it_is_read_right(name: str, tmp_path: Path) -> None:
    records = list(csv.reader(io.StringIO(body_of(name).decode())))
    rows: list[list[object]] = [
        [float(cell) if is_number(cell) else cell for cell in record] for record in records
    ]
    assert cells_of(read(workbook(("Data", rows)), "", tmp_path)) == right_reading(name)
