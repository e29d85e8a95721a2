"""Identifiers and personal data in a column, by its name, a sample of its values, or the insides of its texts.

A form is believed when at least `NEARLY_ALL` of the values have it, and a check digit when they are also more
than chance would give; names of people are believed when many different ones occur. Words of names are known in
English and in a few other languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from app.tables.detection.check_digits import NEARLY_ALL, is_iban, national_numbers, without_marks
from app.tables.detection.column_names import (
    BIRTH,
    LOCATING,
    NAMES,
    NEUTRAL,
    PLACES,
    SENSITIVE,
    identifying_word,
    one_of,
)
from app.tables.detection.given_names import GIVEN_NAMES

ENOUGH = 3
"""Fewer values that pass a check of one in ten may do so by chance."""

PERSONS_SHARE, DIFFERENT_SHARE = 0.7, 0.3
GIVEN_SHARE = 0.3

RECURRING = 0.5
THING = re.compile(r"[-_ ][a-z]|\d")
"""A small letter behind a gap, or a digit, is in hardly any name of a person: Iris-setosa, Boeing 737."""

YEARS = re.compile(r"(1[5-9]|20)\d\d\s*[-–/]\s*((1[5-9]|20)\d\d|\d\d)?")
"""Spans of years, whose digits are as many as those of a phone number."""

COUNTED = 10.0
"""Integers in order that skip more than nine of ten are amounts that somebody sorted."""

DENSE = 1.5
"""Range over number of integers that all differ, up to which they are assigned, not measured."""

LONG_CODE = 7
"""Digits from which integers of one length, all different, are assigned numbers."""

FEWEST = 5
"""Among fewer values, being different is no sign."""


def reason_by_name(
    name: str, sample: Sequence[str] = (), distinct: int | None = None
) -> str | None:
    """Return why the name says that the column is an identifier.

    A name such as `name` says so unless few values recur, none of which a person is called.
    """
    word = identifying_word(name)
    if word is None or (word in NAMES and _are_things(sample, distinct)):
        return None
    return f"Its name, with {word!r} in it, says that it is an identifier."


def _are_things(sample: Sequence[str], distinct: int | None) -> bool:
    """Return whether few texts recur, hardly any of which is a capitalised word or several."""
    if distinct is None or distinct > RECURRING * len(sample):
        return False
    capital = sum(
        (is_person(text) or is_capitalised(text)) and THING.search(text) is None for text in sample
    )
    return capital < DIFFERENT_SHARE * len(sample) and _names(sample) is None


def reason_by_values(sample: Sequence[str], name: str = "") -> str | None:
    """Return why the texts say that the column is an identifier."""
    what = _recognised(sample, neutral=one_of(name, NEUTRAL) is not None)
    return None if what is None else f"It holds {what}, so it is an identifier."


def reason_by_integers(
    sample: Sequence[str], values: int, span: float, *, steps: bool, name: str = ""
) -> str | None:
    """Return why integers are identifiers: all different, and assigned rather than measured.

    `values` of them were seen, from the smallest to the largest over `span`.
    """
    codes = [text.removeprefix("-") for text in sample]
    if len(codes) < FEWEST or not all(text.isdecimal() for text in codes):
        return None
    if (what := national_numbers(codes, FEWEST)) is not None:
        return f"It holds {what}, so it is an identifier."
    if len(set(codes)) < len(codes) or one_of(name, NEUTRAL) is not None:
        return None
    lengths = {len(text) for text in codes}
    dense = span + 1 <= DENSE * values
    if steps and (dense or span + 1 <= COUNTED * values):
        return "Its integers are all different and in order, as ids are."
    if len(lengths) == 1 and lengths.pop() >= LONG_CODE:
        return "Its integers are all different and have equally many digits, as ids have."
    return "Its integers are all different and leave hardly a gap, as ids do." if dense else None


def warnings_about(name: str, *, date: bool) -> list[str]:
    """Return warnings about a released column by its name."""
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


def _recognised(values: Sequence[str], *, neutral: bool = False) -> str | None:
    """Return the kind of personal data that the values are, None for other values."""
    if not values or are_times(values) or _share(values, partial(_has_form, YEARS)):
        return None
    for name, form in FORMS.items():
        if _share(values, partial(_has_form, form)):
            return name
    if (what := national_numbers(values, ENOUGH)) is not None:
        return what
    if _share(values, is_phone):
        return "phone numbers"
    if _share(values, is_street):
        return "addresses of houses"
    return _names(values, neutral=neutral)


def _has_form(form: re.Pattern[str], text: str) -> bool:
    return form.fullmatch(text.strip()) is not None


def _share(values: Sequence[str], test: Callable[[str], bool]) -> bool:
    return sum(map(test, values)) >= NEARLY_ALL * len(values)


def _names(values: Sequence[str], *, neutral: bool = False) -> str | None:
    """Recognise names of people: known given names, or many different capitalised words."""
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
    if not neutral and different and persons + single >= 0.9 * len(values):
        return "many different capitalised words, as names are"
    return None


def _words(text: str) -> list[str]:
    return [word.strip(",.").casefold() for word in text.replace("-", " ").split()]


EMAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+\.[A-Za-z]{2,}")
URL = re.compile(r"(https?://|www\.)\S+", re.IGNORECASE)
IP4 = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}(?::\d+)?")
GROUPS = r"[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){0,6}"
IP6 = re.compile(
    r"(?:(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}"
    rf"|(?:{GROUPS})?::(?:{GROUPS})?(?::?(?:\d{{1,3}}\.){{3}}\d{{1,3}})?)(?:%\w+)?(?:/\d{{1,3}})?"
)
"""Eight groups, or fewer with :: for those left out. A time has two or three, and never ::."""

MAC = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}")
UUID = re.compile(r"\{?[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\}?")
DIGEST = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE)
SSN = re.compile(r"(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")
PAIR = re.compile(
    r"\(?\s*-?\d{1,2}\.\d{2,}\s*°?\s*[NS]?\s*[,; ]\s*-?\d{1,3}\.\d{2,}\s*°?\s*[EW]?\s*\)?"
)
PHONE = re.compile(r"(\+|00)?[\d(][\d\s().\-/]{5,20}\d(\s*(x|ext\.?)\s*\d{1,5})?")
PHONE_SIGNS = re.compile(r"^\+|^00[1-9]|^\(?0\d|[\s().\-/]")
WORDS = r"[A-ZÀ-ÞŁŚŻŹĆŠČŽĐĞİŞŐŰŒ][\w’'ʼ\-]*\.?"
PERSON = re.compile(
    rf"((Dr|Prof|Mr|Mrs|Ms|Herr|Frau|Mme|Sr|Sra|Dott)\.?\s+)?{WORDS}"
    rf"(\s+(van|von|de|den|der|del|della|di|da|dos|du|la|le|el|ten|ter|y|e|af|zu|{WORDS}))*\s+{WORDS}"
    rf"|{WORDS}(\s+{WORDS})*,\s+{WORDS}(\s+{WORDS})*"
)
WORD = re.compile(WORDS)
STREET = re.compile(
    r"(straße|strasse|str\.|gasse|weg|platz|allee|ufer|ring|damm|steig|\bstreet|\bst\.?|\broad|\brd\.?|"
    r"\bavenue|\bave\.?|\blane|\bln\.?|\bdrive|\bdr\.?|\bcourt|\bboulevard|\bblvd\.?|\bclose|\bway|"
    r"\brue|\bchemin|\bimpasse|\bquai|\bplace|\ballée|\bvia|\bviale|\bpiazza|\bcorso|\bcalle|\bavenida|"
    r"\bpaseo|\bplaza|straat|laan|plein|gracht|\bulica|\bul\.|\baleja|\bal\.|gatan|vägen|gata|väg)"
    r"(?=\W|\d|$)",
    re.IGNORECASE,
)
HOUSE = re.compile(r"\b\d{1,5}\s?[A-Za-z]?\b")

FORMS: dict[str, re.Pattern[str]] = {
    "e-mail addresses": EMAIL,
    "web addresses": URL,
    "IP addresses": IP4,
    "IPv6 addresses": IP6,
    "addresses of network cards": MAC,
    "UUIDs": UUID,
    "digests, which stand for something else one to one": DIGEST,
    "US social security numbers": SSN,
    "coordinates": PAIR,
}
"""Forms that a value either has or not, by their name in a sentence."""


def is_phone(text: str) -> bool:
    """Seven to fifteen digits, with a sign that a plain number has not."""
    stripped = text.strip()
    number = sum(character.isdigit() for character in stripped)
    return (
        7 <= number <= 15
        and PHONE.fullmatch(stripped) is not None
        and PHONE_SIGNS.search(stripped) is not None
        and not re.fullmatch(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*", stripped)
        and not re.fullmatch(r"-?\d+\.\d+", stripped)
    )


def is_street(text: str) -> bool:
    """A street with the number of a house."""
    return HOUSE.search(text) is not None and STREET.search(text) is not None


def is_person(text: str) -> bool:
    """Two or more capitalised words, as a name has."""
    return PERSON.fullmatch(text.strip()) is not None


def is_capitalised(text: str) -> bool:
    """One capitalised word."""
    return WORD.fullmatch(text.strip()) is not None


FRACTION = r"(?:[.,:]\d{1,9})?"
CLOCK = rf"\d{{1,5}}:[0-5]\d(?::[0-5]\d{FRACTION})?"
ZONE = r"(?: ?[AaPp]\.?[Mm]\.?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
UNITS = r"(?:d|days?|h|hrs?|hours?|std|m|mins?|minutes?|s|secs?|seconds?|sek)\.?"
TIME = re.compile(
    rf"T?{CLOCK}{ZONE}"
    rf"|[+-]?\d{{1,6}} days?,? {CLOCK}"
    r"|P(?=[\dT])(?:\d{1,6}D)?(?:T(?=\d)(?:\d{1,6}H)?(?:\d{1,6}M)?(?:\d{1,6}(?:[.,]\d{1,9})?S)?)?"
    rf"|\d{{1,6}} ?{UNITS}(?:,? ?\d{{1,6}} ?{UNITS}){{1,3}}",
    re.IGNORECASE,
)
"""Times of day and durations: 12:30, 12:30:45, 1:05 pm, 26:15:00, PT1H30M, 1h 30m, 2 days, 3:00:00.

Their form identifies nobody. They are kept as text, which their owner should know: a number of
minutes would have noise.
"""

TIMES_NOTE = (
    "It holds times of day or durations, kept as text: send them as numbers, such as minutes, to have"
    " noise added."
)


def are_times(sample: Sequence[str]) -> bool:
    """Return whether nearly all texts are times of day or durations."""
    found = sum(TIME.fullmatch(text.strip()) is not None for text in sample)
    return bool(sample) and found >= NEARLY_ALL * len(sample)


EMAIL_WITHIN = re.compile(r"[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}\.[^\W\d_]{2,24}")
PHONE_WITHIN = re.compile(r"(?<![\w+])\+[1-9](?:[ .()/-]{0,2}\d){7,14}(?!\d)")
IBAN_WITHIN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")


def _has_email(text: str) -> bool:
    return "@" in text and EMAIL_WITHIN.search(text) is not None


def _has_phone(text: str) -> bool:
    return "+" in text and PHONE_WITHIN.search(text) is not None


def _has_iban(text: str) -> bool:
    return any(is_iban(without_marks(found)) for found in IBAN_WITHIN.findall(text))


WITHIN: dict[str, Callable[[str], bool]] = {
    "e-mail addresses": _has_email,
    "phone numbers": _has_phone,
    "IBANs": _has_iban,
}
"""Searched inside longer texts: a note with an address identifies a person.

Only forms that hardly anything else has, since a single value is reported. No pattern takes more than a bounded
look from each character.
"""


def personal_within(counts: Mapping[str, int]) -> dict[str, float]:
    """Return the kinds of personal data inside texts, with the share of cells that have them.

    `counts` says how often each value occurs.
    """
    cells = sum(counts.values())
    found = {
        what: sum(count for text, count in counts.items() if has(text))
        for what, has in WITHIN.items()
    }
    return {what: count / cells for what, count in found.items() if count}
