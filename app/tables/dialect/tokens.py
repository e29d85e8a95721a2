"""What a single cell of text looks like: a number in some spelling, a date, a missing one, a total."""

from __future__ import annotations

import re

from app.tables.reading_as import Decimal

MISSING_NUMBERS = ("", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "?")
"""What stands for a missing number without being told."""

USUAL_MARKS = (
    "-",
    "--",
    "---",
    ".",
    "..",
    "...",
    "n.a.",
    "N.A.",
    "na",
    "NaN",
    "nan",
    "none",
    "NONE",
    "nil",
    "missing",
    "unknown",
    "*",
    "x",
    "X",
    "–",
    "—",
    "k.A.",
    "k. A.",
    "#DIV/0!",
    "#VALUE!",
    "#REF!",
    "#NUM!",
    "#NAME?",
    "#NULL!",
    "(blank)",
    "null",
    "#WERT!",
    "ND",
    "n.d.",
    "n/d",
    "N/D",
    "s/d",
)
"""Marks by which people say that a cell is missing: named in an error, since they are no data."""

MINUS = r"\-\x{2212}\x{2013}"
"""Inside brackets of a pattern: a hyphen, the minus sign, and the dash that printers put for it."""

SIGN = rf"[+{MINUS}]?"
CURRENCY = r"(?:€|\$|£|¥|₹|zł|kr\.?|R\$|CHF|EUR|USD|GBP|SEK|NOK|DKK|PLN|JPY|Fr\.|US\$)"
BLANK = r"[ \t\x{00a0}\x{202f}\x{2009}]"
GROUP = {Decimal.POINT: ",", Decimal.COMMA: r"\."}


def plain_pattern(decimal: Decimal) -> str:
    """What Arrow reads as a double as it stands."""
    sign = re.escape(decimal.sign)
    digits = rf"(?:\d+{sign}?\d*|{sign}\d+)(?:[eE][+-]?\d+)?"
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
    power = rf"{SIGN}(?:\d+{sign}?\d*|{sign}\d+)[eE]{SIGN}\d+"
    marked = rf"{before}{number}{after}|{number}{after}-|\({currency}{number}{after}\)"
    return rf"^{BLANK}*(?:{marked}|{power}){BLANK}*$"


def _for_python(pattern: str) -> re.Pattern[str]:
    """RE2 writes code points otherwise than Python does."""
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
    r"^\s*(grand |sub)?(total|totals|sum|summe|gesamt|gesamtsumme|insgesamt|totale|total général|"
    r"suma|suma total|totaal|razem|average|mean|mittelwert|durchschnitt|moyenne|media|totalt|samtliga|"
    r"somma|ogółem|summa)( \(all\)| all)?\s*:?\s*$",
    re.IGNORECASE,
)


def is_number(text: str, decimal: Decimal | None = None) -> bool:
    """Whether a cell is a number in the spelling, or in any."""
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


def is_total(text: str) -> bool:
    """Whether a cell says that its row sums others up."""
    return TOTAL.match(text) is not None
