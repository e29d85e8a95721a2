"""Why a column tells people apart, and what else about it its owner should be warned of."""

from __future__ import annotations

from collections.abc import Sequence

from app.tables.detection.check_digits import CHECKS
from app.tables.detection.column_words import (
    BIRTH,
    LOCATING,
    PLACES,
    SENSITIVE,
    identifying_word,
    one_of,
)
from app.tables.detection.values import NEARLY_ALL, recognised

DENSE = 1.5
"""Integers that all differ within a range so many times their number are counted up, not measured."""

LONG_CODE = 7
"""Digits from which integers of one length, all different, are numbers given to somebody."""

FEWEST = 5
"""Among fewer values, being different is no sign."""


def named_for_people(name: str) -> str | None:
    """Why the name says that the column tells people apart."""
    word = identifying_word(name)
    return (
        None if word is None else f"Its name, with {word!r} in it, says that it tells people apart."
    )


def holding_people(sample: Sequence[str]) -> str | None:
    """Why the texts say so."""
    what = recognised(sample)
    return None if what is None else f"It holds {what}, so it tells people apart."


def numbering_people(sample: Sequence[str], values: int, span: float, *, steps: bool) -> str | None:
    """Why integers say so: they are all different, and given out rather than measured.

    `values` of them were seen, from the smallest to the largest over `span`.
    """
    codes = [text.removeprefix("-") for text in sample]
    if len(codes) < FEWEST or not all(text.isdecimal() for text in codes):
        return None
    checked = [
        what for what, check in CHECKS.items() if sum(map(check, codes)) >= NEARLY_ALL * len(codes)
    ]
    if checked and len(set(codes)) >= FEWEST:
        return f"It holds {checked[0]}, so it tells people apart."
    if len(set(codes)) < len(codes):
        return None
    lengths = {len(text) for text in codes}
    if steps:
        return "Its integers are all different and in order, as ids are."
    if len(lengths) == 1 and lengths.pop() >= LONG_CODE:
        return "Its integers are all different and have equally many digits, as ids have."
    dense = span + 1 <= DENSE * values
    return "Its integers are all different and leave hardly a gap, as ids do." if dense else None


def warnings_about(name: str, *, date: bool) -> list[str]:
    """What the name says is personal about a column that is released."""
    found = []
    if one_of(name, BIRTH):
        found.append("It seems to hold dates of birth, which single people out beside a place.")
    elif date:
        found.append("Dates single people out when something is known of what happened then.")
    if one_of(name, PLACES):
        found.append("It seems to hold coordinates: a place where somebody lives identifies.")
    if one_of(name, LOCATING):
        found.append(
            "It seems to hold postal codes, which single people out beside a date of birth."
        )
    if one_of(name, SENSITIVE):
        found.append("Its name says that it is sensitive: release it only if it must be.")
    return found
