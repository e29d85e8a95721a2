"""E-mail addresses, phone numbers and IBANs inside longer texts are found, and little else is."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from app.tables.detection.within_texts import personal_within

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"

HOLDING = {
    "e-mail addresses": [
        "write to anna0@example.org",
        "<Jörg.Müller+shop@mail.example.co.uk>, please",
        "x@y.de",
    ],
    "phone numbers": ["call +49 170 1234567 after six", "tel.: +1 (212) 555-0123", "+447911123456"],
    "IBANs": ["pay to DE89 3704 0044 0532 0130 00.", "GB82WEST12345698765432 (Smith)"],
}
HOLDING_NOTHING = [
    "met @noon, see you",
    "anna@home",
    "2 @ 3.50",
    "+5 points, then +12345",
    "3 + 123456789",
    "born 2020-01-31, size 40-49",
    "DE88 3704 0044 0532 0130 00",
    "AB12 CDEF 3456 IJKL",
    "Married-civ-spouse",
]


@pytest.mark.parametrize(
    ("what", "text"), [(what, text) for what, texts in HOLDING.items() for text in texts]
)
def test_what_is_personal_inside_a_text_is_found_with_its_share(what: str, text: str) -> None:
    assert personal_within({text: 1, "nothing": 3}) == {what: 0.25}


def test_other_texts_hold_nothing_personal() -> None:
    assert personal_within(dict.fromkeys(HOLDING_NOTHING, 1)) == {}
    assert personal_within({}) == {}


@pytest.mark.shared_data
@pytest.mark.skipif(not DATA.exists(), reason="the data sets are not beside this checkout")
def test_the_public_data_sets_hold_nothing_personal() -> None:
    for path in sorted(DATA.glob("*.csv")):
        with path.open() as lines:
            for name, *cells in zip(*csv.reader(lines), strict=True):
                assert personal_within(Counter(cells)) == {}, (path.name, name)
