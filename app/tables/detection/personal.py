"""Why a column tells people apart, by its name or by a sample of its values; and further warnings.

A form is believed when at least `NEARLY_ALL` of the values have it, and a check digit when they are also more
than chance would give; names of people are believed when many different ones occur.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from app.tables.detection.check_digits import CHECKS, LONGEST, without_marks
from app.tables.detection.column_words import (
    BIRTH,
    LOCATING,
    PLACES,
    SENSITIVE,
    identifying_word,
    one_of,
)
from app.tables.detection.forms import FORMS, is_capitalised, is_person, is_phone, is_street
from app.tables.detection.given_names import GIVEN_NAMES
from app.tables.detection.times import holding_times

NEARLY_ALL = 0.8
ENOUGH = 3
"""Fewer values that pass a check of one in ten may do so by chance."""

PERSONS_SHARE, DIFFERENT_SHARE = 0.7, 0.3
GIVEN_SHARE = 0.3

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
    what = _recognised(sample)
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


def _recognised(values: Sequence[str]) -> str | None:
    """What the values are, as the end of a sentence; None where they are nothing personal."""
    if not values or holding_times(values):
        return None
    for what, form in FORMS.items():
        if _share(values, partial(_has_form, form)):
            return what
    plain = [without_marks(text) if len(text) <= 2 * LONGEST else "" for text in values]
    if len(set(plain)) >= ENOUGH:
        for what, check in CHECKS.items():
            if _share(plain, check):
                return what
    if _share(values, is_phone):
        return "phone numbers"
    if _share(values, is_street):
        return "addresses of houses"
    return _names(values)


def _has_form(form: re.Pattern[str], text: str) -> bool:
    return form.fullmatch(text.strip()) is not None


def _share(values: Sequence[str], test: Callable[[str], bool]) -> bool:
    return sum(map(test, values)) >= NEARLY_ALL * len(values)


def _names(values: Sequence[str]) -> str | None:
    """Names of people: known given names, or many different capitalised words where few would repeat."""
    known = [next((word for word in _words(text) if word in GIVEN_NAMES), None) for text in values]
    # A flower is called Iris, a town Charlotte: only several names make names of people.
    given = len(values) - known.count(None) if len(set(known) - {None}) >= ENOUGH else 0
    persons = sum(map(is_person, values))
    if persons >= PERSONS_SHARE * len(values) and given >= GIVEN_SHARE * len(values):
        return "names of people"
    single = sum(map(is_capitalised, values))
    if single >= PERSONS_SHARE * len(values) and given >= 0.6 * len(values):
        return "given names"
    different = len(set(values)) >= DIFFERENT_SHARE * len(values) and len(set(values)) >= 20
    if different and persons + single >= 0.9 * len(values):
        return "many different capitalised words, as names are"
    return None


def _words(text: str) -> list[str]:
    return [word.strip(",.").casefold() for word in text.replace("-", " ").split()]
