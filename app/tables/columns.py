"""Column profiles, and the kinds inferred from them or set by the owner.

When in doubt a column is an identifier and never released; none is passed through unless the owner says so. A profile
may hold data values: it goes to the owner in the answer, and is never logged, kept or put into an error.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidParameter
from app.model import Column, ColumnOverrides, Kind, Scale, Storage
from app.tables.detection.personal import (
    FEWEST,
    TIMES_NOTE,
    are_times,
    reason_by_integers,
    reason_by_name,
    reason_by_values,
)
from app.tables.stream import TableColumn, category_text
from app.tables.values.dates import DAY_SECONDS, is_timed
from app.tables.values.units import PLAIN

T = TypeVar("T")

FIRST_VALUES, LATER_VALUES, MOST_VALUES = 1_000, 8, 2_000
"""Sample: values from the beginning, then of every later batch, at most."""

EXAMPLES = FREQUENT = 5

DISCRETE = 20
"""Numbers with at most this many different values may be categories, and are counted."""

COMPARED_ROWS, COMPARED_COLUMNS = 20_000, 500

NEARLY_UNIQUE_SHARE = 0.9


@dataclass(frozen=True, repr=False)
class ColumnProfile:
    """Statistics of a column's values in one pass.

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
    """Profile of one column, made batch by batch."""

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

    def add(self, values: pa.Array) -> None:
        """Take in a batch."""
        self._missing += values.null_count
        present = values.drop_null() if values.null_count else values
        if len(present) == 0:
            return
        self._take(present)
        self._values += len(present)
        if self._number:
            self._add_numbers(present)
        self._count(present)

    def profile(self) -> ColumnProfile:
        """The profile of all batches so far."""
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

    def _add_numbers(self, present: pa.Array) -> None:
        bounds = pc.min_max(present)
        self._low = min(self._low, bounds["min"].as_py())
        self._high = max(self._high, bounds["max"].as_py())
        if self._rose or self._fell:
            self._add_steps(present)
        if self._different is not None:
            found = pc.unique(present)
            if len(found) <= self._allowed:
                self._different.update(found.to_pylist())
            if max(len(found), len(self._different)) > self._allowed:
                self._different = None

    def _add_steps(self, present: pa.Array) -> None:
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
    """A number with all its digits; integers without a fraction."""
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def repeating_columns(batch: pa.RecordBatch) -> dict[str, str]:
    """Return for each column the first one before it that it repeats one to one.

    A dictionary numbers values in order of appearance, so such columns have the same numbers. Columns of which every
    value differs all have the same ones: these must be equal.
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


def inferred_column(
    column: TableColumn,
    profile: ColumnProfile,
    overrides: ColumnOverrides | None,
    categories: int,
    *,
    integer: bool,
) -> Column:
    """Return the column with its kind, inferred unless overridden; `integer` where all its numbers are integers."""
    kind, reason = _inferred(column, profile, categories, integer=integer)
    number = column.storage is Storage.NUMBER
    if kind is Kind.CATEGORICAL and number and overrides is not None:
        kind = Kind.NUMERIC  # bounds and rounding are for numbers
    # Numbers that came only after the first block have no unit.
    has_unit = number and column.date_format is None and profile.values > 0
    found = Column(
        column.name,
        kind,
        column.storage,
        reason,
        missing=profile.missing,
        integer=integer,
        unit=(column.unit or PLAIN) if has_unit else None,
        date_format=column.date_format,
    )
    return found if overrides is None else with_overrides(found, overrides)


MOST_WEIGHT = 1e6
"""A weight times the variance of a level stays a number that privacy can be counted of."""


def with_overrides(column: Column, overrides: ColumnOverrides) -> Column:
    """Return the column as its owner wants it; InvalidParameter where its values do not allow that."""
    kind = overrides.kind or column.kind
    name = column.name
    if kind.noised and column.storage is not Storage.NUMBER:
        raise InvalidParameter(
            f"Column {name!r} holds text and cannot be {kind.value}.", column=name
        )
    if kind is not Kind.NUMERIC:
        column = replace(column, round_to_integer=False, scale_unit=None)
    if not kind.noised:
        column = replace(column, lower=None, upper=None, weight=1.0)
    if kind not in (Kind.CATEGORICAL, Kind.PASSTHROUGH):
        column = replace(column, categories=None, other=None, missing_as=None)
    rounded = _chosen(overrides.round_to_integer, column.round_to_integer)
    lower = _bound(_number(overrides.lower, kind), column.lower, -math.inf)
    upper = _bound(_number(overrides.upper, kind), column.upper, math.inf)
    low = -math.inf if lower is None else lower
    high = math.inf if upper is None else upper
    bounds = [bound for bound in (lower, upper) if bound is not None]
    scale_unit = _scale_unit(column, overrides)
    if (rounded and kind is not Kind.NUMERIC) or (bounds and not kind.noised):
        wrong = f"Column {name!r} is not numeric: it has no bounds and is not rounded"
    elif scale_unit is not None and kind is not Kind.NUMERIC:
        wrong = f"Column {name!r} is not numeric and has no log scale."
    elif scale_unit is not None and not 0 < scale_unit < math.inf:
        wrong = f"The unit of the log scale of column {name!r} must be a positive, finite number."
    elif not all(map(math.isfinite, bounds)):
        wrong = (
            f"The bounds of column {name!r} must be finite numbers; leave out the one that is not"
            " meant."
        )
    elif low > high:
        wrong = f"The lower bound of column {name!r} is above its upper bound"
    elif rounded and len(bounds) == 2 and math.ceil(low) > math.floor(high):
        wrong = f"No integer lies within the bounds of column {name!r}"
    else:
        reason = column.reason if overrides.kind is None else "The owner said so."
        return replace(
            column,
            kind=kind,
            reason=reason,
            round_to_integer=rounded,
            lower=lower,
            upper=upper,
            **_declared(name, kind, column, overrides),
            scale_unit=scale_unit,
        )
    raise InvalidParameter(wrong, column=name)


def _scale_unit(column: Column, overrides: ColumnOverrides) -> float | None:
    """The unit of its log scale; None on the linear scale."""
    scale = _chosen(overrides.scale, column.scale)
    if overrides.scale is None and overrides.scale_unit is not None:
        scale = Scale.LOG
    if scale is Scale.LINEAR:
        return None
    return _chosen(overrides.scale_unit, _chosen(column.scale_unit, 1.0))


def _declared(name: str, kind: Kind, column: Column, overrides: ColumnOverrides) -> dict[str, Any]:
    """Return the declared values and weight of a column, checked."""
    categories = _chosen(overrides.categories, column.categories)
    other = _chosen(overrides.other, column.other)
    missing_as = _chosen(overrides.missing_as, column.missing_as)
    weight = _chosen(overrides.weight, column.weight)
    if categories is not None and kind not in (Kind.CATEGORICAL, Kind.PASSTHROUGH):
        wrong = f"Column {name!r} is {kind.value} and has no list of values; say its kind, too"
    elif weight != 1.0 and not kind.noised:
        wrong = f"Column {name!r} has no noise, so it has no weight"
    elif not 1 / MOST_WEIGHT <= weight <= MOST_WEIGHT:
        wrong = f"The weight of column {name!r} must lie between {1 / MOST_WEIGHT:g} and {MOST_WEIGHT:g}"
    elif categories is not None and not categories:
        wrong = f"The list of values of column {name!r} is empty"
    elif categories is not None and len(set(categories)) < len(categories):
        wrong = f"A value stands twice in the list of column {name!r}"
    elif not {other, missing_as} - {None} <= set(categories or ()):
        wrong = f"`other` and `missing_as` of column {name!r} must be in its list of values"
    else:
        return {
            "categories": categories,
            "other": other,
            "missing_as": missing_as,
            "weight": weight,
        }
    raise InvalidParameter(wrong, column=name)


def _number(bound: float | date | None, kind: Kind) -> float | None:
    """A bound as a column of its kind has it: a day of the calendar as days since 1970, of moments as seconds."""
    if not isinstance(bound, date):
        return bound
    days = (bound - date(1970, 1, 1)).days
    return float(days * DAY_SECONDS if kind is Kind.DATETIME else days)


def _bound(override: float | None, present: float | None, free: float) -> float | None:
    return None if override == free else _chosen(override, present)


def _chosen(override: T | None, present: T) -> T:
    return present if override is None else override


def storage_overrides(
    overrides: Mapping[str, ColumnOverrides], key_column: str | None = None
) -> dict[str, Storage]:
    """Return how columns must be read for their kinds: codes and keys as they are written, numbers as numbers."""
    needed = {name: one.storage or STORAGE_FOR.get(one.kind) for name, one in overrides.items()}
    found = {name: storage for name, storage in needed.items() if storage is not None}
    return found if key_column is None else {key_column: Storage.TEXT, **found}


STORAGE_FOR: dict[Kind | None, Storage] = {
    Kind.NUMERIC: Storage.NUMBER,
    Kind.DATE: Storage.TEXT,  # made days once they are read
    Kind.DATETIME: Storage.TEXT,
    Kind.CATEGORICAL: Storage.TEXT,
    Kind.IDENTIFIER: Storage.TEXT,
}


def refuse_unknown_columns(names: Iterable[str], known: Collection[str]) -> None:
    """InvalidParameter for a column that is not there."""
    for name in names:
        if name not in known:
            raise InvalidParameter(f"There is no column {name!r}", column=name)


def _inferred(
    column: TableColumn, profile: ColumnProfile, categories: int, *, integer: bool
) -> tuple[Kind, str]:
    """The kind, and why."""
    if profile.values == 0:
        return Kind.IDENTIFIER, "It has no values; say what it is if it will have some."
    reason = reason_by_name(column.name, profile.sample, profile.distinct)
    if reason is None and column.date_format is None:
        if column.storage is Storage.TEXT:
            reason = reason_by_values(profile.sample, column.name)
        elif integer and profile.smallest is not None and profile.largest is not None:
            span = profile.largest - profile.smallest
            reason = reason_by_integers(
                profile.sample, profile.values, span, steps=profile.steps, name=column.name
            )
    if reason is not None:
        return Kind.IDENTIFIER, reason
    if column.date_format is not None and is_timed(column.date_format):
        return (
            Kind.DATETIME,
            "It holds moments: its noise is in seconds, and it leaves in its own format.",
        )
    if column.date_format is not None:
        return Kind.DATE, "It holds dates: its noise is in days, and it leaves as dates."
    note = f" {column.note}" if column.note else ""
    if column.storage is Storage.NUMBER:
        return _inferred_of_numbers(profile, note)
    return _inferred_of_texts(profile, categories, note)


def _inferred_of_numbers(profile: ColumnProfile, note: str) -> tuple[Kind, str]:
    """Numeric, unless a few values occur twice or more on average: rounding would bring these back."""
    distinct = profile.distinct
    if distinct is None or not 2 <= distinct <= min(DISCRETE, profile.values // 2):
        return Kind.NUMERIC, f"It holds numbers.{note}"
    return (
        Kind.CATEGORICAL,
        f"It holds {distinct} different numbers only: noise on so few could be rounded away."
        f" Say numeric to have noise added all the same.{note}",
    )


def _inferred_of_texts(profile: ColumnProfile, categories: int, note: str) -> tuple[Kind, str]:
    """Categorical, unless the distinct values are numerous enough to identify people."""
    distinct = profile.distinct
    times = f" {TIMES_NOTE}" if are_times(profile.sample) else ""
    if distinct is None:
        different = f"It has more than {categories} different values, so it is an identifier."
        return Kind.IDENTIFIER, f"{different}{times}"
    if profile.values >= FEWEST and distinct >= NEARLY_UNIQUE_SHARE * profile.values:
        different = "Nearly all its values are different, so it is an identifier."
        return Kind.IDENTIFIER, f"{different}{times}"
    return Kind.CATEGORICAL, f"It holds text with {distinct} different values.{note}{times}"
