"""How a text spells its numbers: decimal point or comma, with or without marks.

One spelling holds for a whole file. Each column of numbers either speaks for one of the two, or for
none: 12 and 1,234,567.5 and 30.123 are evidence of different strength, and the last of none, since
it may be thirty and a bit or thirty thousand.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidTable
from app.tables.dialect.tokens import MINUS, marked_pattern, plain_pattern
from app.tables.reading_as import Decimal

NUMBERS_FROM = 0.9
"""A column of which so many cells are numbers is a number column with strays, never text."""

CURRENCY_OR_PERCENT = r"(?:€|\$|£|¥|₹|zł|kr\.?|R\$|CHF|EUR|USD|GBP|SEK|NOK|DKK|PLN|JPY|Fr\.|US\$|%)"


@dataclass(frozen=True)
class Spelling:
    """Which cells of a column are numbers under one decimal sign; arrays as long as its present cells."""

    plain: pa.Array
    number: pa.Array

    @property
    def count(self) -> int:
        found: int = pc.sum(self.number).as_py() or 0
        return found


@dataclass(frozen=True)
class SpelledColumn:
    """A column of texts without its missing cells, under either decimal sign."""

    name: str
    values: int
    spellings: dict[Decimal, Spelling]
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


def spelled(name: str, texts: pa.Array) -> SpelledColumn:
    """The present cells of a column, looked at under both decimal signs."""
    spellings = {}
    for decimal in Decimal:
        plain = pc.match_substring_regex(texts, plain_pattern(decimal))
        marked = pc.match_substring_regex(texts, marked_pattern(decimal))
        spellings[decimal] = Spelling(plain, pc.or_(plain, marked))
    both = pc.and_(*(spelling.number for spelling in spellings.values()))
    signs = pc.match_substring_regex(texts, r"\d[.,]\d")
    return SpelledColumn(name, len(texts), spellings, bool(pc.any(pc.and_(both, signs)).as_py()))


def found_decimal(columns: list[SpelledColumn], wished: Decimal | None) -> Decimal:
    """The decimal sign of the file; InvalidTable where its columns contradict each other or do not tell."""
    if wished is not None:
        return wished
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
