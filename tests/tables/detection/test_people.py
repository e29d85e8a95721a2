"""Direct identifiers of people in six countries are found by their values, and little else is."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

from app.model import Column, Kind, Limits
from app.service.datasets.arriving.ingest import ingest
from app.service.datasets.arriving.register import Nowhere, dated
from app.tables.reading import read_batches
from app.tables.reading_as import Header, ReadingWishes
from tests.tables.detection.people import GIVEN, columns_of

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
NOT_PERSONAL = {
    "colour": ["red", "green", "blue"],
    "Stadt": ["Köln", "Berlin", "Rom", "Oslo"],
    "grade": ["A", "B", "C", "D"],
    "product": ["Iris setosa", "Table large", "Chair small"],
    "version": ["1.2.3", "1.2.4", "2.0.0"],
    "band": ["18-25", "26-35", "36-50"],
    "amount": ["12.50", "13.75", "99.00", "12.5"],
    "year": ["2019", "2020", "2021"],
}


def kinds_of(columns: dict[str, list[str]], folder: Path) -> dict[str, Column]:
    sink = io.StringIO(newline="")
    writer = csv.writer(sink)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return registered(sink.getvalue().encode(), folder, ReadingWishes(header=Header.PRESENT))


def registered(body: bytes, folder: Path, wishes: ReadingWishes) -> dict[str, Column]:
    with read_batches(
        io.BytesIO(body), "text/csv", None, Limits(), folder, wishes=wishes
    ) as stream:
        found = ingest(dated(stream, {}, None), {}, Nowhere(), Limits())
    return {column.name: column for column in found.columns}


@pytest.mark.parametrize("rows", [12, 400])
def test_at_least_99_of_100_direct_identifiers_are_found(rows: int, tmp_path: Path) -> None:
    found = total = 0
    missed = []
    for seed in range(4):
        for country in GIVEN:
            columns = columns_of(country, rows, random.Random(seed))
            for name, column in kinds_of(columns, tmp_path).items():
                total += 1
                found += column.kind is Kind.IDENTIFIER
                if column.kind is not Kind.IDENTIFIER:
                    missed.append((country, name, seed))
    assert found >= 0.99 * total, missed


def test_what_is_not_personal_raises_no_alarm(tmp_path: Path) -> None:
    rng = random.Random(7)
    columns = {
        name: [rng.choice(cells) for _ in range(200)] for name, cells in NOT_PERSONAL.items()
    }
    alarms = [
        (column.name, column.because)
        for column in kinds_of(columns, tmp_path).values()
        if column.kind is Kind.IDENTIFIER
    ]
    assert alarms == []


@pytest.mark.shared_data
@pytest.mark.skipif(not DATA.exists(), reason="the data sets are not beside this checkout")
def test_the_public_data_sets_raise_no_false_alarm(tmp_path: Path) -> None:
    alarms = [
        (path.name, column.name, column.because)
        for path in sorted(DATA.glob("*.csv"))
        for column in registered(path.read_bytes(), tmp_path, ReadingWishes()).values()
        if column.kind is Kind.IDENTIFIER
    ]
    assert alarms == []
