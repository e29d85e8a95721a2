"""What kind a column is: inferred with a reason for the owner to read, or as the owner said.

When in doubt a column tells people apart and is never released; nothing is ever passed through
unless the owner says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from app.errors import InvalidParameter
from app.model import Column, ColumnWish, Kind, Storage

T = TypeVar("T")

IDENTIFYING = frozenset(
    [
        "id",
        "uuid",
        "guid",
        "key",
        "email",
        "mail",
        "phone",
        "telephone",
        "mobile",
        "fax",
        "ssn",
        "iban",
        "passport",
        "name",
        "surname",
        "forename",
        "lastname",
        "firstname",
        "fullname",
        "username",
    ]
)
"""Last words of names such as customer_id, eMail, last_name."""

TRAILING = frozenset(["number", "no", "nr", "address"])
"""Words that add nothing behind one of those: phone_number, email_address."""

NEARLY_UNIQUE_SHARE = 0.9
NEARLY_UNIQUE_FROM = 50
"""Among fewer values than this, being different is no sign."""

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class Facts:
    """What one pass over a column found.

    where:
        values    how many cells are present
        distinct  how many different texts there are, None when more than are counted
    """

    name: str
    storage: Storage
    values: int
    missing: int
    integer: bool = False
    distinct: int | None = None


def column_of(facts: Facts, wish: ColumnWish | None, categories: int) -> Column:
    """The column, by the caller's wish where there is one, else by inference."""
    kind, because = _inferred(facts, categories)
    column = Column(
        facts.name, kind, facts.storage, because, missing=facts.missing, integer=facts.integer
    )
    return column if wish is None else as_wished(column, wish)


def as_wished(column: Column, wish: ColumnWish) -> Column:
    """The column with the caller's wishes; InvalidParameter for one that its values do not allow."""
    kind = wish.kind or column.kind
    if kind is Kind.NUMERIC and column.storage is not Storage.NUMBER:
        raise InvalidParameter(
            f"Column {column.name!r} holds text and cannot be numeric", column=column.name
        )
    wanted = replace(
        column,
        kind=kind,
        because=column.because if wish.kind is None else "The owner said so.",
        round_to_integer=_chosen(wish.round_to_integer, column.round_to_integer),
        lower=_chosen(wish.lower, column.lower),
        upper=_chosen(wish.upper, column.upper),
    )
    bounded = wanted.round_to_integer or wanted.lower is not None or wanted.upper is not None
    if bounded and kind is not Kind.NUMERIC:
        raise InvalidParameter(
            f"Column {column.name!r} is not numeric: it has no bounds and is not rounded",
            column=column.name,
        )
    if wanted.lower is not None and wanted.upper is not None and wanted.lower > wanted.upper:
        raise InvalidParameter(
            f"The lower bound of column {column.name!r} is above its upper bound",
            column=column.name,
        )
    if wanted.round_to_integer and _no_integer_between(wanted.lower, wanted.upper):
        raise InvalidParameter(
            f"No integer lies within the bounds of column {column.name!r}", column=column.name
        )
    return wanted


def _no_integer_between(lower: float | None, upper: float | None) -> bool:
    return lower is not None and upper is not None and math.ceil(lower) > math.floor(upper)


def wished_storage(wishes: Mapping[str, ColumnWish]) -> dict[str, Storage]:
    """How columns must be read for their wished kinds: codes as they are written, numbers as numbers.

    A column to be passed through is kept in whichever way its values suggest.
    """
    storage = {
        Kind.NUMERIC: Storage.NUMBER,
        Kind.CATEGORICAL: Storage.TEXT,
        Kind.IDENTIFIER: Storage.TEXT,
    }
    return {name: storage[wish.kind] for name, wish in wishes.items() if wish.kind in storage}


def refuse_unknown(wishes: Mapping[str, ColumnWish], names: tuple[str, ...]) -> None:
    """InvalidParameter for a wish about a column that is not there."""
    for name in wishes:
        if name not in names:
            raise InvalidParameter(f"There is no column {name!r}", column=name)


def _inferred(facts: Facts, categories: int) -> tuple[Kind, str]:
    if facts.values == 0:
        return Kind.IDENTIFIER, "It has no values; say what it is if it will have some."
    if (word := _identifying_word(facts.name)) is not None:
        return Kind.IDENTIFIER, f"Its name, with {word!r} in it, says that it tells people apart."
    if facts.storage is Storage.NUMBER:
        return Kind.NUMERIC, "It holds numbers."
    if facts.distinct is None:
        return (
            Kind.IDENTIFIER,
            f"It has more than {categories} different values, so it tells people apart.",
        )
    if facts.values >= NEARLY_UNIQUE_FROM and facts.distinct >= NEARLY_UNIQUE_SHARE * facts.values:
        return Kind.IDENTIFIER, "Nearly all its values are different, so it tells people apart."
    return Kind.CATEGORICAL, f"It holds text with {facts.distinct} different values."


def _identifying_word(name: str) -> str | None:
    words = [word.lower() for word in WORD.findall(name)]
    while len(words) > 1 and words[-1] in TRAILING | {"1", "2"}:
        words.pop()
    return words[-1] if words and words[-1] in IDENTIFYING else None


def _chosen(wish: T | None, present: T) -> T:
    return present if wish is None else wish
