"""Normal scores of ranks, and their inverse by the empirical quantile function.

Ranks make every marginal the same, so that a method that mixes columns can neither leave a column's
range nor smear a value that many records share. Equal values, categories among them, share an
interval of the scores, as wide as they are frequent; a value of one record has the middle of its own.

| symbol | name here | meaning |
| --- | --- | --- |
| x | `values`, (n,) | a column: numbers, or categories by their place in an order; NaN is missing |
| (Φ⁻¹(F(x−)), Φ⁻¹(F(x))) | `score_intervals` | where the score of a cell lies; everywhere for a missing one |
| x_(1) ≤ … ≤ x_(n) | `Quantiles.sorted` | the values present |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from app.numerics.arrays import FloatArray, Places
from app.numerics.synthesis.mixed import MOST_DECIMALS


def score_intervals(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lower and upper end, (n,) each, of the interval in which the normal score of each cell lies.

    A value of one record is given: both ends are Φ⁻¹((i − ½)/n), i its rank. A column of a single
    value varies no more than a constant does: its scores are 0. A missing cell lies anywhere.
    """
    present = ~np.isnan(values)
    lower, upper = np.full(values.size, -np.inf), np.full(values.size, np.inf)
    known, place, counts = np.unique(values[present], return_inverse=True, return_counts=True)
    if known.size < 2:
        lower[present] = upper[present] = 0.0
        return lower, upper
    ends = np.concatenate([[0], np.cumsum(counts)])
    below, above = ends[:-1].astype(np.float64), ends[1:].astype(np.float64)
    alone = counts == 1
    below[alone] += 0.5
    above[alone] -= 0.5
    lower[present] = special.ndtri(below / ends[-1])[place]
    upper[present] = special.ndtri(above / ends[-1])[place]
    return lower, upper


def scores_of_ranks(values: FloatArray) -> FloatArray:
    """Φ⁻¹((i − ½)/n) for the rank i of each value among those of its column, (n, d), none missing."""
    n = len(values)
    scores = special.ndtri((np.arange(n) + 0.5) / n)
    found = np.empty_like(values)
    np.put_along_axis(found, np.argsort(values, axis=0, kind="stable"), scores[:, None], axis=0)
    return found


@dataclass(frozen=True)
class Quantiles:
    """The empirical quantile function of a column, interpolated between its single values.

    where:
        sorted    the values present, (n,)
        low, high half-way to the neighbours; equal to the value itself where it is tied or at an end
        decimals  of each value; None for a column that is not rounded
    """

    sorted: FloatArray
    low: FloatArray
    high: FloatArray
    decimals: Places | None

    def at_ranks(self, ranks: Places, total: int, rng: np.random.Generator) -> FloatArray:
        """Values for `ranks` 0 … total − 1, any shape: one of each of `total` strata of equal probability.

        With total = n a tied value returns as often as it came, to the record. A single value is
        moved at random between the middles to its neighbours, and keeps its number of decimals.
        """
        n = self.sorted.size
        if total == n:
            place, within = ranks, rng.random(ranks.shape)
        else:
            within, whole = np.modf((ranks + rng.random(ranks.shape)) / total * n)
            place = np.minimum(whole.astype(np.intp), n - 1)
        low = self.low[place]
        values: FloatArray = low + (self.high[place] - low) * within
        if self.decimals is not None:
            values = _rounded(values, self.decimals[place])
        return np.clip(values, self.sorted[0], self.sorted[-1])


def quantiles_of(values: FloatArray, *, interpolated: bool, rounded: bool) -> Quantiles:
    """The quantile function of `values` (n,), NaN for missing; ValueError when none is present.

    Categories are not `interpolated`; numbers that keep their decimals are `rounded`.
    """
    known = np.sort(values[~np.isnan(values)])
    if not known.size:
        raise ValueError("a column without values has no quantiles")
    low, high = known.copy(), known.copy()
    decimals = None
    if interpolated:
        middle = known[:-1] + np.diff(known) / 2
        rises = np.diff(known) > 0
        alone = np.concatenate([[True], rises]) & np.concatenate([rises, [True]])
        inner = np.flatnonzero(alone)
        low[inner[inner > 0]] = middle[inner[inner > 0] - 1]
        high[inner[inner < known.size - 1]] = middle[inner[inner < known.size - 1]]
        decimals = decimals_of(known) if rounded else None
    return Quantiles(known, low, high, decimals)


def decimals_of(values: FloatArray) -> Places:
    """The decimals that each value needs, (n,); MOST_DECIMALS + 1 where that many are not enough."""
    found = np.full(values.size, MOST_DECIMALS + 1, dtype=np.intp)
    open_places = np.arange(values.size)
    for decimals in range(MOST_DECIMALS + 1):
        fits = np.round(values[open_places], decimals) == values[open_places]
        found[open_places[fits]] = decimals
        open_places = open_places[~fits]
        if not open_places.size:
            break
    return found


def _rounded(values: FloatArray, decimals: Places) -> FloatArray:
    rounded = values.copy()
    for each in np.unique(decimals):
        if each <= MOST_DECIMALS:
            chosen = decimals == each
            rounded[chosen] = np.round(values[chosen], int(each))
    return rounded
