"""How a table is to be read, as far as the caller says it, and how it was read in the end.

What the caller leaves open is found out; what has two plausible answers is refused with an error
that names both and the parameter that decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.errors import InvalidParameter

LONGEST_TOKEN = 40
MOST_TOKENS = 50


class Header(StrEnum):
    """Whether the first row names the columns."""

    PRESENT = "present"
    ABSENT = "absent"


class Decimal(StrEnum):
    """The sign between whole and fraction."""

    POINT = "point"
    COMMA = "comma"

    @property
    def sign(self) -> str:
        return "." if self is Decimal.POINT else ","


class DateOrder(StrEnum):
    """What stands first in dates such as 03/04/2024."""

    DAY_FIRST = "day_first"
    MONTH_FIRST = "month_first"


@dataclass(frozen=True)
class ReadingWishes:
    """What the caller says of the text; None is to be found out.

    where:
        delimiter  one character between fields
        encoding   a name that Python knows, such as utf-8 or windows-1252
        missing    further texts that stand for a missing cell, in any column
        sheet      the name of a sheet of a workbook
        dates      which of day and month stands first, where both can be
    """

    delimiter: str | None = None
    decimal: Decimal | None = None
    encoding: str | None = None
    header: Header | None = None
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    dates: DateOrder | None = None

    def __post_init__(self) -> None:
        said = self.delimiter
        if said is not None and (
            len(said) != 1 or said.isalnum() or said in "\"'\r\n\0.+-_" or not said.isascii()
        ):
            raise InvalidParameter(
                "The delimiter must be one character, such as a comma, a semicolon, a tab or |.",
                parameter="delimiter",
            )
        if len(self.missing) > MOST_TOKENS or any(
            not 0 < len(token) <= LONGEST_TOKEN for token in self.missing
        ):
            raise InvalidParameter(
                f"At most {MOST_TOKENS} tokens of 1 to {LONGEST_TOKEN} characters can stand for a "
                "missing cell.",
                parameter="missing",
            )


FOUND_OUT = ReadingWishes()
"""Nothing is said: all of it is found out."""


@dataclass(frozen=True)
class ReadAs:
    """How a table was read; what its format does not have is None.

    where:
        missing  the further tokens that were taken for missing cells
    """

    format: str
    encoding: str | None = None
    delimiter: str | None = None
    decimal: Decimal | None = None
    header: Header | None = None
    sheet: str | None = None
    missing: tuple[str, ...] = ()
