"""What the values of a column are, judged by a sample of them.

A form is believed when at least `NEARLY_ALL` of the values have it, and a check digit when they are
also more than chance would give; names of people are believed when many different ones occur.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from app.tables.detection.check_digits import CHECKS, LONGEST, without_marks
from app.tables.detection.forms import FORMS, is_capitalised, is_person, is_phone, is_street
from app.tables.detection.given_names import GIVEN_NAMES

NEARLY_ALL = 0.8
ENOUGH = 3
"""Fewer values that pass a check of one in ten may do so by chance."""

PERSONS_SHARE, DIFFERENT_SHARE = 0.7, 0.3
GIVEN_SHARE = 0.3


def recognised(values: Sequence[str]) -> str | None:
    """What the values are, as the end of a sentence; None where they are nothing personal."""
    if not values:
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
