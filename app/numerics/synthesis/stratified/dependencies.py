"""Functional dependencies: columns that a categorical column determines, such as city → country.

No synthesis of two columns keeps such a fact without exception, so the determined column takes no
part in it and is looked up afterwards. A column that few records could have contradicted is
determined by chance, and looking it up would release its records; such dependencies do not count.

| symbol | name here | meaning |
| --- | --- | --- |
| A → B | `Dependency` | every category of A has one value of B |
| k | | categories of A that occur with a value of B |
| (Σ p_b²)^(n − k) | `_chance` | how likely n records would agree so if A told nothing of B |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.tables import MixedTable

LEAST_RECORDS = 5
"""Records for each category of the determining column, on average."""

LARGEST_LOG_CHANCE = float(np.log(1e-9))


@dataclass(frozen=True)
class Dependency:
    """Column `determined` is a function of the categories of `by`.

    Columns are counted with the numeric ones first. `values[c]` is the number, or the code, that
    category c has; NaN where no record says.
    """

    by: int
    determined: int
    values: FloatArray

    def looked_up(self, codes: Places) -> FloatArray:
        """The determined column, (n,), for categories `codes` (n,), none missing."""
        return self.values[codes]


def dependencies(table: MixedTable) -> tuple[Dependency, ...]:
    """The dependencies that hold in every record, each determined column once.

    Of columns that determine each other the first of the most categories stays. What determines is itself
    never determined: country → continent is city → continent where city → country holds. A column
    that does not vary is in none.
    """
    p = table.numeric.shape[1]
    counted = [int(np.unique(codes[codes >= 0]).size) for codes in table.codes.T]
    determined: dict[int, Dependency] = {}
    for by in sorted(range(len(counted)), key=lambda column: -counted[column]):
        if p + by in determined or not 2 <= counted[by] <= table.records / LEAST_RECORDS:
            continue
        for column in range(p + len(counted)):
            if (
                column == p + by
                or column in determined
                or column in {d.by for d in determined.values()}
            ):
                continue
            values = table.numeric[:, column] if column < p else _as_numbers(table, column - p)
            found = _determined(table.codes[:, by], table.categories[by], values)
            if found is not None:
                determined[column] = Dependency(p + by, column, found)
    return tuple(determined[column] for column in sorted(determined))


def _as_numbers(table: MixedTable, column: int) -> FloatArray:
    codes = table.codes[:, column]
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


def _determined(codes: Places, categories: int, values: FloatArray) -> FloatArray | None:
    """The value of each category, (categories,), where every category has one; None otherwise."""
    both = (codes >= 0) & ~np.isnan(values)
    codes, values = codes[both], values[both]
    lookup = np.full(categories, np.nan)
    lookup[codes] = values
    if not np.array_equal(lookup[codes], values):
        return None
    counts = np.unique(values, return_counts=True)[1]
    if counts.size < 2:
        return None
    same = float(np.square(counts / counts.sum()).sum())
    contradictable = codes.size - np.unique(codes).size
    return lookup if contradictable * np.log(same) <= LARGEST_LOG_CHANCE else None
