"""Times of day and durations are no addresses; addresses still are, and the owner is told what to do."""

from __future__ import annotations

import datetime as dt
import io
import random
from ipaddress import IPv6Address
from pathlib import Path

import openpyxl
import pytest

from app.model import Column, Kind
from app.tables.detection.forms import IP6, MAC
from app.tables.detection.times import holding_times
from app.tables.reading_as import FOUND_OUT
from tests.tables.detection.test_people import kinds_of, registered

TIMES = {
    "minutes": "{0:d}:{1:02d}",
    "seconds": "{0:02d}:{1:02d}:{2:02d}",
    "fractions": "{0:02d}:{1:02d}:{2:02d}.25",
    "milliseconds": "{0:02d}:{1:02d}:{2:02d}:250",
    "twelve hours": "{3:d}:{1:02d} pm",
    "zones": "{0:02d}:{1:02d}:{2:02d}+02:00",
    "more than a day": "{4:d}:{1:02d}:{2:02d}",
    "days before them": "{3:d} days, {0:d}:{1:02d}:{2:02d}",
    "iso durations": "PT{0:d}H{1:d}M",
    "words": "{0:d} h {1:d} min",
}


def times(form: str, rows: int, different: int) -> list[str]:
    rng = random.Random(3)
    drawn = [
        form.format(*map(rng.randrange, (24, 60, 60)), rng.randrange(1, 12), rng.randrange(24, 900))
        for _ in range(different)
    ]
    return [drawn[row % different] for row in range(rows)]


@pytest.mark.parametrize("form", TIMES.values(), ids=TIMES)
def test_times_that_recur_are_categories_with_a_word_on_numbers(form: str, tmp_path: Path) -> None:
    column = kinds_of({"begins": times(form, 200, 15), "n": ["1"] * 200}, tmp_path)["begins"]
    assert column.kind is Kind.CATEGORICAL
    assert "times of day or durations" in column.because
    assert "such as minutes" in column.because


@pytest.mark.parametrize("form", TIMES.values(), ids=TIMES)
def test_times_that_all_differ_tell_people_apart_by_that_and_not_as_addresses(
    form: str, tmp_path: Path
) -> None:
    column = kinds_of({"begins": times(form, 40, 40), "n": ["1"] * 40}, tmp_path)["begins"]
    assert column.kind is Kind.IDENTIFIER
    assert "Nearly all its values are different" in column.because
    assert "such as minutes" in column.because


def workbook_of_times() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["begins", "lasts", "n"])
    for one in range(60):
        sheet.append([dt.time(8, one % 6, 30), dt.timedelta(hours=25 + one % 5), one * one])
        sheet.cell(sheet.max_row, 2).number_format = "[h]:mm:ss"
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def test_times_and_durations_of_a_workbook_are_categories(tmp_path: Path) -> None:
    found: dict[str, Column] = registered(workbook_of_times(), tmp_path, FOUND_OUT)
    for name, different in (("begins", 6), ("lasts", 5)):
        assert found[name].kind is Kind.CATEGORICAL
        assert f"{different} different values. It holds times" in found[name].because


ADDRESSES = [
    "2001:db8:85a3:0:0:8a2e:370:7334",
    "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "2001:db8::1",
    "::1",
    "::",
    "fe80::1%eth0",
    "::ffff:192.168.0.1",
    "64:ff9b::192.0.2.33",
    "2001:db8::",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_are_still_addresses(address: str) -> None:
    IPv6Address(address)
    assert IP6.fullmatch(address)
    assert not holding_times([address])


def test_random_addresses_are_found_and_random_times_are_not(tmp_path: Path) -> None:
    rng = random.Random(5)
    addresses = [IPv6Address(rng.getrandbits(rng.choice([16, 60, 128]))) for _ in range(300)]
    for one in addresses:
        assert IP6.fullmatch(one.compressed)
        assert IP6.fullmatch(one.exploded)
    column = kinds_of({"host": [one.compressed for one in addresses]}, tmp_path)["host"]
    assert (column.kind, "IPv6" in column.because) == (Kind.IDENTIFIER, True)


def test_a_network_card_is_called_one() -> None:
    assert MAC.fullmatch("00:1a:2b:3c:4d:5e")
    assert not IP6.fullmatch("00:1a:2b:3c:4d:5e")


@pytest.mark.parametrize(
    "cells", [["1:2", "3:1"], ["16:9", "4:3"], ["12", "30"], ["5 m", "6 m"], ["May", "June"], []]
)
def test_ratios_numbers_and_words_are_no_times(cells: list[str]) -> None:
    assert not holding_times(cells)
