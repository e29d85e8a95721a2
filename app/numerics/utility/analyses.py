"""Usual analyses on a copy and on its original: means, spread, correlations, contingency tables.

| here | meaning |
|---|---|
| X, Y | a number in the n rows of the original and of the copy; NaN is missing, in both alike |
| bias | mean(Y) - mean(X) |
| error of the bias | sd(Y - X)/√m, m the rows that another draw would be of |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.tables import MixedTable
from app.numerics.utility.association import pearson
from app.numerics.utility.quality import total_variation

MOST_COMPARED = 30
"""Columns of a kind of which all pairs are compared, the first."""

MOST_CATEGORIES = 1_000
STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class MomentChange:
    """Change of a column's mean and standard deviation by a copy.

    where:
        noise   sd(Y - X), of one row
        values  rows in which the column is there
    """

    mean: float
    bias: float
    noise: float
    deviation: float
    deviation_in_copy: float
    values: int

    def largest_bias(self, rows: int) -> float:
        """95 % bound of the bias of the mean in a copy of `rows` rows.

        What of the bias chance does not explain in the rows looked at, and two standard errors at
        the number of rows that the copy has.
        """
        here = STANDARD_ERRORS * self.noise / math.sqrt(max(self.values, 1))
        there = STANDARD_ERRORS * self.noise / math.sqrt(max(rows, 1))
        return max(0.0, abs(self.bias) - here) + there


def moved(before: FloatArray, after: FloatArray) -> MomentChange | None:
    """Change of a column (n,); None where it has no two values, or no spread."""
    there = ~np.isnan(before) & ~np.isnan(after)
    X, Y = before[there], after[there]
    if len(X) < 2 or not X.std() > 0:
        return None
    return MomentChange(
        mean=float(X.mean()),
        bias=float((Y - X).mean()),
        noise=float((Y - X).std(ddof=1)),
        deviation=float(X.std(ddof=1)),
        deviation_in_copy=float(Y.std(ddof=1)),
        values=len(X),
    )


@dataclass(frozen=True)
class PairDistances:
    """Distances between copy and original over pairs of columns: mean, largest, and where that is."""

    mean: float
    largest: float
    between: tuple[int, int]
    pairs: int


def correlation_gaps(original: MixedTable, copy: MixedTable) -> PairDistances | None:
    """|Δρ| over pairs of numbers; None without a pair that has a correlation."""
    X, Y = (each.numeric[:, :MOST_COMPARED] for each in (original, copy))
    if X.shape[1] < 2:
        return None
    gaps = np.abs(pearson(Y) - pearson(X))
    pairs = [pair for pair in combinations(range(X.shape[1]), 2) if np.isfinite(gaps[pair])]
    return _gaps(pairs, [float(gaps[pair]) for pair in pairs])


def table_distances(original: MixedTable, copy: MixedTable) -> list[float]:
    """Total variation of the table of each categorical column."""
    return [
        total_variation(before, after, known)
        for before, after, known in zip(
            original.codes.T, copy.codes.T, original.categories, strict=True
        )
    ]


def pair_distances(original: MixedTable, copy: MixedTable) -> PairDistances | None:
    """Total variation of the tables of two categorical columns; None where there are no two.

    Columns of more than a thousand categories are left out: their tables are mostly empty.
    """
    known = original.categories
    few = [place for place in range(len(known)) if known[place] <= MOST_CATEGORIES]
    pairs = list(combinations(few[:MOST_COMPARED], 2))
    distances = [
        total_variation(_crossed(original, i, j), _crossed(copy, i, j), known[i] * known[j])
        for i, j in pairs
    ]
    return _gaps(pairs, distances)


def _crossed(table: MixedTable, i: int, j: int) -> Places:
    return np.asarray(table.codes[:, i] * table.categories[j] + table.codes[:, j])


def _gaps(pairs: Sequence[tuple[int, int]], gaps: Sequence[float]) -> PairDistances | None:
    if not pairs:
        return None
    worst = int(np.argmax(gaps))
    return PairDistances(float(np.mean(gaps)), gaps[worst], pairs[worst], len(pairs))
