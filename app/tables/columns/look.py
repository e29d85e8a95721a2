"""What one pass over the columns shows their owner: how many values, how large, how often, a few of them.

Everything here may hold data values: it goes to the owner in the answer, and is never logged, kept
or put into an error.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from app.model import Storage
from app.tables.stream import TableColumn, category_text

FIRST_VALUES, LATER_VALUES, MOST_VALUES = 1_000, 8, 2_000
"""The sample: so many from the beginning, then so many of every batch, up to so many."""

EXAMPLES = FREQUENT = 5

DISCRETE = 20
"""Numbers with no more different values than this may be categories, and are counted."""


@dataclass(frozen=True, repr=False)
class ColumnLook:
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


class LookedAt:
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

    def look(self) -> ColumnLook:
        """What was seen."""
        if self._number:
            distinct = None if self._different is None else len(self._different)
        else:
            distinct = None if self._counts is None else len(self._counts)
        seen = self._number and self._values > 0
        return ColumnLook(
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


COMPARED_ROWS, COMPARED_COLUMNS = 20_000, 500
"""Of more columns only so many are compared."""


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
