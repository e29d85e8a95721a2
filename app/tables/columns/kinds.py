"""What kind a column is: inferred with a reason for the owner to read, or as the owner said.

When in doubt a column tells people apart and is never released; nothing is ever passed through
unless the owner says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from app.errors import InvalidParameter
from app.model import Column, ColumnWish, Kind, Storage
from app.tables.columns.look import DISCRETE, ColumnLook
from app.tables.detection.personal import (
    FEWEST,
    holding_people,
    named_for_people,
    numbering_people,
)
from app.tables.detection.times import NOTE, holding_times
from app.tables.stream import TableColumn
from app.tables.values.units import PLAIN

T = TypeVar("T")

NEARLY_UNIQUE_SHARE = 0.9


@dataclass(frozen=True)
class Facts:
    """What one pass over a column found.

    where:
        values    how many cells are present
        distinct  how many different values there are, None when more than are counted
        look      what else was seen of them, where it was looked at
        column    what its reader said of it
    """

    name: str
    storage: Storage
    values: int
    missing: int
    integer: bool = False
    distinct: int | None = None
    look: ColumnLook | None = None
    column: TableColumn | None = None

    @property
    def date(self) -> bool:
        return self.column is not None and self.column.date

    @property
    def unit(self) -> str | None:
        """The sign of its numbers; those that came only after the reader's first look have none."""
        if self.storage is not Storage.NUMBER or self.date or not self.values:
            return None
        seen = None if self.column is None else self.column.unit
        return PLAIN if seen is None else seen


def column_of(facts: Facts, wish: ColumnWish | None, categories: int) -> Column:
    """The column, by the caller's wish where there is one, else by inference."""
    kind, because = _inferred(facts, categories)
    if kind is Kind.CATEGORICAL and facts.storage is Storage.NUMBER and wish is not None:
        kind = Kind.NUMERIC  # bounds and rounding are said of numbers
    column = Column(
        facts.name,
        kind,
        facts.storage,
        because,
        missing=facts.missing,
        integer=facts.integer,
        unit=facts.unit,
    )
    return column if wish is None else as_wished(column, wish)


def as_wished(column: Column, wish: ColumnWish) -> Column:
    """The column with the caller's wishes; InvalidParameter for one that its values do not allow."""
    kind = wish.kind or column.kind
    if kind.noised and column.storage is not Storage.NUMBER:
        raise InvalidParameter(
            f"Column {column.name!r} holds text and cannot be {kind.value}.", column=column.name
        )
    if kind is not Kind.NUMERIC:  # what was said of the number that it was goes with it
        column = replace(column, round_to_integer=False, lower=None, upper=None)
    wanted = replace(
        column,
        kind=kind,
        because=column.because if wish.kind is None else "The owner said so.",
        round_to_integer=_chosen(wish.round_to_integer, column.round_to_integer),
        lower=_bound(wish.lower, column.lower, -math.inf),
        upper=_bound(wish.upper, column.upper, math.inf),
    )
    bounded = wanted.round_to_integer or wanted.lower is not None or wanted.upper is not None
    if bounded and kind is not Kind.NUMERIC:
        raise InvalidParameter(
            f"Column {column.name!r} is not numeric: it has no bounds and is not rounded",
            column=column.name,
        )
    if not all(math.isfinite(bound) for bound in (wanted.lower or 0.0, wanted.upper or 0.0)):
        raise InvalidParameter(
            f"The bounds of column {column.name!r} must be finite numbers; leave out the one that"
            " is not meant.",
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


def _bound(wished: float | None, had: float | None, free: float) -> float | None:
    return None if wished == free else _chosen(wished, had)


def _no_integer_between(lower: float | None, upper: float | None) -> bool:
    return lower is not None and upper is not None and math.ceil(lower) > math.floor(upper)


def wished_storage(wishes: Mapping[str, ColumnWish]) -> dict[str, Storage]:
    """How columns must be read for their wished kinds: codes as they are written, numbers as numbers.

    A column to be passed through is kept in whichever way its values suggest.
    """
    needed = {name: wish.storage or _storage_for(wish.kind) for name, wish in wishes.items()}
    return {name: storage for name, storage in needed.items() if storage is not None}


def _storage_for(kind: Kind | None) -> Storage | None:
    match kind:
        case Kind.NUMERIC:
            return Storage.NUMBER
        # Dates come as texts, which are made days afterwards.
        case Kind.DATE | Kind.CATEGORICAL | Kind.IDENTIFIER:
            return Storage.TEXT
        case _:
            return None


def refuse_unknown(wishes: Mapping[str, ColumnWish], names: tuple[str, ...]) -> None:
    """InvalidParameter for a wish about a column that is not there."""
    for name in wishes:
        if name not in names:
            raise InvalidParameter(f"There is no column {name!r}", column=name)


def _inferred_of_numbers(facts: Facts, note: str) -> tuple[Kind, str]:
    """Numeric, unless a few values are met twice or more on average: these rounding brings back."""
    distinct = facts.distinct
    if distinct is None or not 2 <= distinct <= min(DISCRETE, facts.values // 2):
        return Kind.NUMERIC, f"It holds numbers.{note}"
    return (
        Kind.CATEGORICAL,
        f"It holds {distinct} different numbers only: noise on so few could be rounded away. Say"
        f" numeric to have noise added all the same.{note}",
    )


def _inferred(facts: Facts, categories: int) -> tuple[Kind, str]:
    if facts.values == 0:
        return Kind.IDENTIFIER, "It has no values; say what it is if it will have some."
    if (reason := named_for_people(facts.name) or _told_apart(facts)) is not None:
        return Kind.IDENTIFIER, reason
    note = f" {facts.column.note}" if facts.column is not None and facts.column.note else ""
    if facts.date:
        return Kind.DATE, "It holds dates: its noise is in days, and it leaves as dates."
    if facts.storage is Storage.NUMBER:
        return _inferred_of_numbers(facts, note)
    timed = facts.look is not None and holding_times(facts.look.sample)
    times = f" {NOTE}" if timed else ""
    if (reason := _different(facts, categories)) is not None:
        return Kind.IDENTIFIER, f"{reason}{times}"
    return Kind.CATEGORICAL, f"It holds text with {facts.distinct} different values.{note}{times}"


def _different(facts: Facts, categories: int) -> str | None:
    """Why so many texts differ that they tell people apart."""
    if facts.distinct is None:
        return f"It has more than {categories} different values, so it tells people apart."
    if facts.values >= FEWEST and facts.distinct >= NEARLY_UNIQUE_SHARE * facts.values:
        return "Nearly all its values are different, so it tells people apart."
    return None


def _told_apart(facts: Facts) -> str | None:
    """Why the values say that the column tells people apart."""
    look = facts.look
    if look is None or facts.date:
        return None
    if facts.storage is Storage.TEXT:
        return holding_people(look.sample)
    if not facts.integer or look.smallest is None or look.largest is None:
        return None
    return numbering_people(
        look.sample, look.values, look.largest - look.smallest, steps=look.steps
    )


def _chosen(wish: T | None, present: T) -> T:
    return present if wish is None else wish
