"""Number syntax of texts: decimal sign, thousands marks, units; and marks of missing cells, dates and totals.

One decimal sign holds for a whole file. 1,234,567.5 is evidence for the point, 12 for neither sign, and 30.123 for
neither, since it may be thirty thousand.
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

NULL = r"\N"
"""A missing cell of PostgreSQL, MySQL, Hive and Snowflake, also among texts."""

MISSING_NUMBERS = ("", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "?", ".", NULL)
"""Missing numbers by default; the point is that of SAS, SPSS and Stata."""

USUAL_MARKS = (
    *"- -- --- .. ... n.a. N.A. na NaN nan none NONE nil missing unknown * x X – — k.A. ND n.d. n/d N/D s/d".split(),
    *"#DIV/0! #VALUE! #REF! #NUM! #NAME? #NULL! #WERT!".split(),
    "k. A.",
    "(blank)",
)
"""Usual marks of missing cells: named in an error, since they are no data."""

SUPPRESSED = r"^<\s?\d{1,2}$"
"""A count that was too small to be published: a mark, and the same in every such cell."""

NUMBERS_FROM = 0.9
"""Share of numbers from which a column is one of numbers with strays, never text."""

MINUS = r"\-\x{2212}\x{2013}"
"""Inside brackets of a pattern: a hyphen, the minus sign, and the dash that printers put for it."""

SIGN = rf"[+{MINUS}]?"
BLANK = r"[ \t\x{00a0}\x{202f}\x{2009}]"
GROUP = {Decimal.POINT: ",", Decimal.COMMA: r"\."}


def plain_pattern(decimal: Decimal) -> str:
    """Return the pattern of texts that Arrow reads as doubles."""
    sign = re.escape(decimal.sign)
    digits = rf"(?:\d+(?:{sign}\d*)?|{sign}\d+)(?:[eE][+-]?\d+)?"
    return rf"^[ \t]*[+-]?(?:{digits}|(?i:nan|inf|infinity))[ \t]*$"


def marked_pattern(decimal: Decimal) -> str:
    """Return the pattern of numbers with thousands marks, a unit, or a minus of bookkeepers or printers."""
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
    """Return whether a cell is a number in the spelling, or in any."""
    text = text.strip()
    return any(
        PLAIN[one].match(text) or MARKED[one].match(text)
        for one in ([decimal] if decimal else Decimal)
    )


def is_value(text: str) -> bool:
    """Return whether a text is rather a cell than the name of a column."""
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


def is_mark(text: str) -> bool:
    """Return whether a cell is a usual mark of a missing one."""
    return text in USUAL_MARKS or re.match(SUPPRESSED, text) is not None


def is_total(text: str) -> bool:
    """Return whether a cell is the heading of a total row."""
    return TOTAL.match(text.strip()) is not None


@dataclass(frozen=True)
class NumberMatches:
    """Cells of a column that are numbers under one decimal sign; arrays as long as its present cells."""

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
    matches: dict[Decimal, NumberMatches]
    differ: bool

    @property
    def is_numeric(self) -> bool:
        counts = [one.count for one in self.matches.values()]
        return self.values > 0 and max(counts) >= NUMBERS_FROM * self.values

    @property
    def decimal_sign(self) -> Decimal | None:
        """The decimal sign under which more of its cells are numbers."""
        point = self.matches[Decimal.POINT].count
        comma = self.matches[Decimal.COMMA].count
        if not self.is_numeric or point == comma:
            return None
        return Decimal.POINT if point > comma else Decimal.COMMA


def number_candidates(name: str, texts: pa.Array) -> NumberCandidates:
    """Return the number syntax of a column's present cells under both decimal signs."""
    matches = {}
    for decimal in Decimal:
        plain = pc.match_substring_regex(texts, plain_pattern(decimal))
        marked = pc.match_substring_regex(texts, marked_pattern(decimal))
        matches[decimal] = NumberMatches(plain, pc.or_(plain, marked))
    both = pc.and_(*(one.number for one in matches.values()))
    signs = pc.match_substring_regex(texts, r"\d[.,]\d")
    return NumberCandidates(name, len(texts), matches, bool(pc.any(pc.and_(both, signs)).as_py()))


@dataclass
class DecimalSign:
    """The decimal sign of a file.

    where:
        known  whether its sender said it or a number showed it; until then it is the point, since no number had any
    """

    sign: Decimal
    known: bool = True


def detect_decimal(columns: list[NumberCandidates], chosen: Decimal | None) -> DecimalSign:
    """Return the decimal sign of the file; InvalidTable where its columns contradict each other."""
    if chosen is not None:
        return DecimalSign(chosen)
    signs_found: dict[Decimal, str] = {}
    for column in columns:
        if (sign := column.decimal_sign) is not None:
            signs_found.setdefault(sign, column.name)
    if len(signs_found) == 2:
        raise InvalidTable(
            f"Column {signs_found[Decimal.POINT]!r} seems to have decimal points and column "
            f"{signs_found[Decimal.COMMA]!r} decimal commas; say decimal=point or decimal=comma.",
            parameter="decimal",
            plausible=["point", "comma"],
        )
    if signs_found:
        return DecimalSign(next(iter(signs_found)))
    unclear = next((column for column in columns if column.is_numeric and column.differ), None)
    if unclear is not None:
        raise unclear_mark(unclear.name)
    return DecimalSign(Decimal.POINT, known=False)


def unclear_mark(name: str, row: int | None = None) -> InvalidTable:
    """The error for numbers of which nothing tells what the mark before three digits is."""
    where = "" if row is None else f" in row {row}"
    return InvalidTable(
        f"The numbers of column {name!r} have a mark before three digits{where}, which may be "
        "a decimal sign or separate thousands; say decimal=point or decimal=comma.",
        parameter="decimal",
        plausible=["point", "comma"],
        column=name,
        row=row,
    )


def matches_number(texts: pa.Array, decimal: Decimal) -> pa.Array:
    """Return which texts are numbers with this decimal sign, with or without marks."""
    return pc.or_(
        pc.match_substring_regex(texts, plain_pattern(decimal)),
        pc.match_substring_regex(texts, marked_pattern(decimal)),
    )


def without_marks(texts: pa.Array, decimal: Decimal) -> pa.Array:
    """Return numbers as Arrow reads them: no marks, a decimal point, the minus in front."""
    texts = pc.replace_substring_regex(texts, r"[\s\x{00a0}\x{202f}\x{2009}'’]", "")
    texts = pc.replace_substring_regex(texts, f"[{MINUS}]", "-")
    texts = pc.replace_substring_regex(texts, CURRENCY_OR_PERCENT, "")
    texts = pc.replace_substring_regex(texts, r"^\((.*)\)$", r"-\1")
    texts = pc.replace_substring_regex(texts, r"^(.*)-$", r"-\1")
    if decimal is Decimal.COMMA:
        texts = pc.replace_substring(texts, ".", "")
        return pc.replace_substring(texts, ",", ".")
    return pc.replace_substring(texts, ",", "")
