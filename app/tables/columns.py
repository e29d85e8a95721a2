"""What one pass over a column shows, and what kind it is by that: inferred with a reason for the owner to read, or as the
owner said.

When in doubt a column tells people apart and is never released; nothing is ever passed through
unless the owner says so.

What is looked at may hold data values: it goes to the owner in the answer, and is never logged, kept
or put into an error.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidParameter
from app.model import Column, ColumnOverrides, Kind, Storage
from app.tables.detection.personal import (
    FEWEST,
    TIMES_NOTE,
    are_times,
    reason_by_integers,
    reason_by_name,
    reason_by_values,
)
from app.tables.stream import TableColumn, category_text
from app.tables.values.units import PLAIN

T = TypeVar("T")

FIRST_VALUES, LATER_VALUES, MOST_VALUES = 1_000, 8, 2_000
"""The sample: so many from the beginning, then so many of every batch, up to so many."""

EXAMPLES = FREQUENT = 5

DISCRETE = 20
"""Numbers with no more different values than this may be categories, and are counted."""

COMPARED_ROWS, COMPARED_COLUMNS = 20_000, 500
"""Of more columns only so many are compared."""

NEARLY_UNIQUE_SHARE = 0.9


@dataclass(frozen=True, repr=False)
class ColumnProfile:
    """What was seen of a column.

    where:
        distinct           how many different values, None when more than are counted
        smallest, largest  of the numbers; a date is a number of days
        sample             some values as texts, in order
        counts             how often each value occurs, None when there are too many
        steps              whether the numbers only ever grew, or only ever fell
    """

    values: int
    missing: int
    distinct: int | None
    smallest: float | None
    largest: float | None
    sample: tuple[str, ...]
    counts: Counter[str] | None
    steps: bool

    @property
    def examples(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.sample))[:EXAMPLES]

    @property
    def frequent(self) -> tuple[tuple[str, int], ...]:
        """The most frequent values, unless nearly all differ."""
        if self.counts is None or (self.distinct or 0) > self.values / 2:
            return ()
        return tuple(self.counts.most_common(FREQUENT))


class ColumnProfiler:
    """Looks at the batches of one column as they pass."""

    def __init__(self, column: TableColumn, categories: int, *, counted: bool = False) -> None:
        self.name = column.name
        self._number = column.storage is Storage.NUMBER
        self._allowed = categories
        self._countable = categories if counted or not self._number else DISCRETE
        self._values = 0
        self._missing = 0
        self._counts: Counter[str] | None = Counter()
        self._different: set[float] | None = set()
        self._low, self._high = math.inf, -math.inf
        self._sample: list[str] = []
        self._last: float | None = None
        self._rose = self._fell = True

    def see(self, values: pa.Array) -> None:
        """Take note of a batch."""
        self._missing += values.null_count
        present = values.drop_null() if values.null_count else values
        if len(present) == 0:
            return
        self._take(present)
        self._values += len(present)
        if self._number:
            self._see_numbers(present)
        self._count(present)

    def look(self) -> ColumnProfile:
        """What was seen."""
        if self._number:
            distinct = None if self._different is None else len(self._different)
        else:
            distinct = None if self._counts is None else len(self._counts)
        seen = self._number and self._values > 0
        return ColumnProfile(
            values=self._values,
            missing=self._missing,
            distinct=distinct,
            smallest=self._low if seen else None,
            largest=self._high if seen else None,
            sample=tuple(self._sample),
            counts=self._counts,
            steps=seen and (self._rose or self._fell),
        )

    def _take(self, present: pa.Array) -> None:
        wanted = FIRST_VALUES - len(self._sample)
        if wanted <= 0:
            wanted = LATER_VALUES if len(self._sample) < MOST_VALUES else 0
        if wanted:
            taken = present.slice(0, wanted).to_pylist()
            self._sample += map(_written, taken) if self._number else taken

    def _see_numbers(self, present: pa.Array) -> None:
        bounds = pc.min_max(present)
        self._low = min(self._low, bounds["min"].as_py())
        self._high = max(self._high, bounds["max"].as_py())
        if self._rose or self._fell:
            self._see_steps(present)
        if self._different is not None:
            found = pc.unique(present)
            if len(found) <= self._allowed:
                self._different.update(found.to_pylist())
            if max(len(found), len(self._different)) > self._allowed:
                self._different = None

    def _see_steps(self, present: pa.Array) -> None:
        numbers = present.to_numpy(zero_copy_only=False)
        steps = numbers[1:] - numbers[:-1]
        if self._last is not None:
            self._rose &= bool(numbers[0] > self._last)
            self._fell &= bool(numbers[0] < self._last)
        self._rose &= bool((steps > 0).all())
        self._fell &= bool((steps < 0).all())
        self._last = float(numbers[-1])

    def _count(self, present: pa.Array) -> None:
        if self._counts is None:
            return
        found = pc.value_counts(present)
        if len(found) <= self._countable:
            distinct, counts = found.flatten()
            names = category_text(distinct).to_pylist()
            self._counts.update(dict(zip(names, counts.to_pylist(), strict=True)))
        if max(len(found), len(self._counts)) > self._countable:
            self._counts = None


def _written(number: float) -> str:
    """A number with all its digits and without a fraction that it has not."""
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def repeating_columns(batch: pa.RecordBatch) -> dict[str, str]:
    """Column → the first one before it that it repeats, under whatever names its values have.

    A dictionary numbers values in order of appearance, so columns that are one to one have the same
    numbers. Columns of which every value differs all have the same ones: these must be equal.
    """
    rows = batch.slice(0, COMPARED_ROWS)
    first: dict[bytes, str] = {}
    found = {}
    for name, values in list(zip(rows.schema.names, rows.columns, strict=True))[:COMPARED_COLUMNS]:
        coded = values.dictionary_encode(null_encoding="encode")
        if len(coded.dictionary) < 2:
            continue
        unique = len(coded.dictionary) == rows.num_rows
        key = values if unique else coded.indices
        digest = hashlib.sha256(str(values.type if unique else "").encode())
        for part in key.buffers():
            digest.update(part or b"-")
        mark = digest.digest()
        if mark in first:
            found[name] = first[mark]
        else:
            first[mark] = name
    return found


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
    look: ColumnProfile | None = None
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


def facts_of(column: TableColumn, look: ColumnProfile, *, integer: bool) -> Facts:
    """What is known of a column that was looked at; `integer` says whether all its numbers are."""
    return Facts(
        column.name,
        column.storage,
        values=look.values,
        missing=look.missing,
        integer=integer,
        distinct=look.distinct,
        look=look,
        column=column,
    )


def column_of(facts: Facts, wish: ColumnOverrides | None, categories: int) -> Column:
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
    return column if wish is None else with_overrides(column, wish)


def with_overrides(column: Column, wish: ColumnOverrides) -> Column:
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


def storage_overrides(wishes: Mapping[str, ColumnOverrides]) -> dict[str, Storage]:
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


def refuse_unknown_columns(wishes: Mapping[str, ColumnOverrides], names: tuple[str, ...]) -> None:
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
    if (reason := reason_by_name(facts.name) or _told_apart(facts)) is not None:
        return Kind.IDENTIFIER, reason
    note = f" {facts.column.note}" if facts.column is not None and facts.column.note else ""
    if facts.date:
        return Kind.DATE, "It holds dates: its noise is in days, and it leaves as dates."
    if facts.storage is Storage.NUMBER:
        return _inferred_of_numbers(facts, note)
    timed = facts.look is not None and are_times(facts.look.sample)
    times = f" {TIMES_NOTE}" if timed else ""
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
        return reason_by_values(look.sample)
    if not facts.integer or look.smallest is None or look.largest is None:
        return None
    return reason_by_integers(
        look.sample, look.values, look.largest - look.smallest, steps=look.steps
    )


def _chosen(wish: T | None, present: T) -> T:
    return present if wish is None else wish
