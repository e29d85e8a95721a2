"""What cells of text look like: a number in some spelling, a date, a missing one, a total; and which decimal sign a text has.

One spelling holds for a whole file. Each column of numbers either speaks for one of the two, or for
none: 12 and 1,234,567.5 and 30.123 are evidence of different strength, and the last of none, since
it may be thirty and a bit or thirty thousand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidTable
from app.tables.stream import Decimal
from app.tables.values.units import CURRENCY, CURRENCY_OR_PERCENT

MISSING_NUMBERS = ("", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "?")
"""What stands for a missing number without being told."""

USUAL_MARKS = (
    *"- -- --- . .. ... n.a. N.A. na NaN nan none NONE nil missing unknown * x X – — k.A. ND n.d. n/d N/D s/d".split(),
    *"#DIV/0! #VALUE! #REF! #NUM! #NAME? #NULL! #WERT!".split(),
    "k. A.",
    "(blank)",
)
"""Marks by which people say that a cell is missing: named in an error, since they are no data."""

NUMBERS_FROM = 0.9
"""A column of which so many cells are numbers is a number column with strays, never text."""

MINUS = r"\-\x{2212}\x{2013}"
"""Inside brackets of a pattern: a hyphen, the minus sign, and the dash that printers put for it."""

SIGN = rf"[+{MINUS}]?"
BLANK = r"[ \t\x{00a0}\x{202f}\x{2009}]"
GROUP = {Decimal.POINT: ",", Decimal.COMMA: r"\."}


def plain_pattern(decimal: Decimal) -> str:
    """What Arrow reads as a double as it stands."""
    sign = re.escape(decimal.sign)
    digits = rf"(?:\d+(?:{sign}\d*)?|{sign}\d+)(?:[eE][+-]?\d+)?"
    return rf"^[ \t]*[+-]?(?:{digits}|(?i:nan|inf|infinity))[ \t]*$"


def marked_pattern(decimal: Decimal) -> str:
    """A number with thousands marks, a currency or percent sign, or a minus as bookkeepers or printers write it."""
    sign = re.escape(decimal.sign)
    grouped = "|".join(
        rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+" for mark in (GROUP[decimal], "['’]", BLANK)
    )
    number = rf"(?:(?:{grouped}|\d+)(?:{sign}\d+)?|{sign}\d+)"
    currency = rf"(?:{CURRENCY}{BLANK}*)?"
    before = rf"(?:{SIGN}{BLANK}*{currency}|{currency}{SIGN})"
    after = rf"(?:{BLANK}*(?:{CURRENCY}|%))?"
    power = rf"{SIGN}(?:\d+(?:{sign}\d*)?|{sign}\d+)[eE]{SIGN}\d+"
    marked = rf"{before}{number}{after}|{number}{after}-|\({currency}{number}{after}\)"
    return rf"^{BLANK}*(?:{marked}|{power}){BLANK}*$"


def _for_python(pattern: str) -> re.Pattern[str]:
    """The pattern for a text without blanks around it, whose other parts can match in one way only.

    Python tries all ways, where RE2 takes time in proportion to the text. RE2 writes code points otherwise.
    """
    return re.compile(re.sub(r"\\x\{([0-9a-f]{4})\}", r"\\u\1", pattern))


PLAIN = {decimal: _for_python(plain_pattern(decimal)) for decimal in Decimal}
MARKED = {decimal: _for_python(marked_pattern(decimal)) for decimal in Decimal}

DATE = re.compile(
    r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?$"
    r"|^\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ]\d{1,2}:\d{2}.*)?$"
)
ADDRESS = re.compile(
    r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$|^https?://|^\d{1,3}(\.\d{1,3}){3}$"
    r"|^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
)
PHONE = re.compile(r"^\+?\d[\d \-/().]{6,}$")
TOTAL = re.compile(
    r"^(grand |sub)?(total|totals|sum|summe|gesamt|gesamtsumme|insgesamt|totale|total général|"
    r"suma|suma total|totaal|razem|average|mean|mittelwert|durchschnitt|moyenne|media|totalt|samtliga|"
    r"somma|ogółem|summa)( \(all\)| all)?\s*:?$",
    re.IGNORECASE,
)


def is_number(text: str, decimal: Decimal | None = None) -> bool:
    """Whether a cell is a number in the spelling, or in any."""
    text = text.strip()
    return any(
        PLAIN[one].match(text) or MARKED[one].match(text)
        for one in ([decimal] if decimal else Decimal)
    )


def is_value(text: str) -> bool:
    """Whether a text is rather a cell than the name of a column."""
    stripped = text.strip()
    return bool(
        is_number(stripped)
        or (
            (stripped and (stripped in MISSING_NUMBERS or stripped in USUAL_MARKS))
            and stripped not in ("x", "X", "unknown", "missing", "na", "ND")
        )
        or stripped in ("True", "False", "true", "false", "TRUE", "FALSE")
        or DATE.match(stripped)
        or ADDRESS.match(stripped)
        or PHONE.match(stripped)
    )


def numbers_among(texts: Sequence[str]) -> list[float]:
    """The texts that Python reads as numbers."""
    found = []
    for text in texts:
        with suppress(ValueError):
            found.append(float(text))
    return found


def is_total(text: str) -> bool:
    """Whether a cell says that its row sums others up."""
    return TOTAL.match(text.strip()) is not None


@dataclass(frozen=True)
class NumberMatches:
    """Which cells of a column are numbers under one decimal sign; arrays as long as its present cells."""

    plain: pa.Array
    number: pa.Array

    @property
    def count(self) -> int:
        found: int = pc.sum(self.number).as_py() or 0
        return found


@dataclass(frozen=True)
class NumberCandidates:
    """A column of texts without its missing cells, under either decimal sign."""

    name: str
    values: int
    spellings: dict[Decimal, NumberMatches]
    differ: bool

    @property
    def is_numeric(self) -> bool:
        counts = [spelling.count for spelling in self.spellings.values()]
        return self.values > 0 and max(counts) >= NUMBERS_FROM * self.values

    @property
    def speaks_for(self) -> Decimal | None:
        """The decimal sign under which more of its cells are numbers."""
        point = self.spellings[Decimal.POINT].count
        comma = self.spellings[Decimal.COMMA].count
        if not self.is_numeric or point == comma:
            return None
        return Decimal.POINT if point > comma else Decimal.COMMA


def spelled(name: str, texts: pa.Array) -> NumberCandidates:
    """The present cells of a column, looked at under both decimal signs."""
    spellings = {}
    for decimal in Decimal:
        plain = pc.match_substring_regex(texts, plain_pattern(decimal))
        marked = pc.match_substring_regex(texts, marked_pattern(decimal))
        spellings[decimal] = NumberMatches(plain, pc.or_(plain, marked))
    both = pc.and_(*(spelling.number for spelling in spellings.values()))
    signs = pc.match_substring_regex(texts, r"\d[.,]\d")
    return NumberCandidates(name, len(texts), spellings, bool(pc.any(pc.and_(both, signs)).as_py()))


def detect_decimal(columns: list[NumberCandidates], chosen: Decimal | None) -> Decimal:
    """The decimal sign of the file; InvalidTable where its columns contradict each other or do not tell."""
    if chosen is not None:
        return chosen
    voices: dict[Decimal, str] = {}
    for column in columns:
        if (sign := column.speaks_for) is not None:
            voices.setdefault(sign, column.name)
    if len(voices) == 2:
        raise InvalidTable(
            f"Column {voices[Decimal.POINT]!r} seems to have decimal points and column "
            f"{voices[Decimal.COMMA]!r} decimal commas; say decimal=point or decimal=comma.",
            parameter="decimal",
            plausible=["point", "comma"],
        )
    if voices:
        return next(iter(voices))
    unclear = next((column for column in columns if column.is_numeric and column.differ), None)
    if unclear is not None:
        raise InvalidTable(
            f"The numbers of column {unclear.name!r} have a mark before three digits, which may be "
            "a decimal sign or separate thousands; say decimal=point or decimal=comma.",
            parameter="decimal",
            plausible=["point", "comma"],
            column=unclear.name,
        )
    return Decimal.POINT


def matches_number(texts: pa.Array, decimal: Decimal) -> pa.Array:
    """Return which texts are numbers with this decimal sign, with or without marks."""
    return pc.or_(
        pc.match_substring_regex(texts, plain_pattern(decimal)),
        pc.match_substring_regex(texts, marked_pattern(decimal)),
    )


def without_marks(texts: pa.Array, decimal: Decimal) -> pa.Array:
    """Spelled numbers as Arrow reads them: no marks, a decimal point, the minus in front."""
    texts = pc.replace_substring_regex(texts, r"[\s\x{00a0}\x{202f}\x{2009}'’]", "")
    texts = pc.replace_substring_regex(texts, f"[{MINUS}]", "-")
    texts = pc.replace_substring_regex(texts, CURRENCY_OR_PERCENT, "")
    texts = pc.replace_substring_regex(texts, r"^\((.*)\)$", r"-\1")
    texts = pc.replace_substring_regex(texts, r"^(.*)-$", r"-\1")
    if decimal is Decimal.COMMA:
        texts = pc.replace_substring(texts, ".", "")
        return pc.replace_substring(texts, ",", ".")
    return pc.replace_substring(texts, ",", "")
