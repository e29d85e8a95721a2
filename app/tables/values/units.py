"""Units of numbers: the sign they came with, % or a currency.

12.3 % is kept as 12.3, a share as 0.123: rows with one unit must not be mixed with rows of another.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.errors import InvalidTable

PLAIN = ""
"""The unit of numbers that came without a sign."""

PERCENT = "%"
CURRENCY = r"(?:€|\$|£|¥|₹|zł|kr\.?|R\$|CHF|EUR|USD|GBP|SEK|NOK|DKK|PLN|JPY|Fr\.|US\$)"
CURRENCY_OR_PERCENT = f"(?:{CURRENCY}|%)"


def different_units(
    name: str,
    places: Mapping[str, str],
    *,
    row: int | None = None,
    remedy: str = "give all of them the same sign or none",
) -> InvalidTable:
    """Return the error for numbers of one column in several units; `places` has a cell of each."""
    found = ", ".join(f"{unit or 'none'} {place}" for unit, place in places.items())
    return InvalidTable(
        f"The numbers of column {name!r} have different signs ({found}): an amount in one is not the same"
        f" in the other. Bring them to one unit, and {remedy}.",
        column=name,
        row=row,
    )


def refuse_other_unit(name: str, known: str | None, given: str | None, before: str) -> None:
    """InvalidTable where the numbers of `before` came with another sign."""
    if known is None or given is None or known == given:
        return
    alike = "without a sign" if known == PLAIN else f"with {known}"
    raise InvalidTable(
        f"Column {name!r} holds {_numbers(given)} here and {_numbers(known)} in {before}, which may be"
        f" other amounts. Bring them to the unit of {before} and write them {alike}.",
        column=name,
    )


def _numbers(unit: str) -> str:
    return "plain numbers" if unit == PLAIN else f"numbers with {unit}"
