"""Distances between original and released columns, and one overall quality score.

The measures are those of the SDMetrics quality report, so that figures can be compared: a column scores
1 − KS or 1 − total variation; a pair 1 − |Δρ|/2 for numbers, and 1 − total variation of its joint
distribution where a category is in it, numbers cut into ten bins of one width.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.tables import MixedTable
from app.numerics.utility.association import pearson


def kolmogorov_smirnov(original: FloatArray, released: FloatArray) -> float:
    """sup |F(x) − F̂(x)| of the two empirical distribution functions; both (n,), not empty."""
    _refuse_empty(original, released)
    first, second = np.sort(original), np.sort(released)
    points = np.concatenate([first, second])
    below_first = np.searchsorted(first, points, side="right") / first.size
    below_second = np.searchsorted(second, points, side="right") / second.size
    return float(np.abs(below_first - below_second).max())


def wasserstein(original: FloatArray, released: FloatArray) -> float:
    """∫ |F(x) − F̂(x)| dx, in the unit of the column; both (n,), not empty."""
    _refuse_empty(original, released)
    first, second = np.sort(original), np.sort(released)
    points = np.sort(np.concatenate([first, second]))
    below_first = np.searchsorted(first, points[:-1], side="right") / first.size
    below_second = np.searchsorted(second, points[:-1], side="right") / second.size
    return float(np.abs(below_first - below_second) @ np.diff(points))


def total_variation(original: Places, released: Places, categories: int) -> float:
    """½·Σ_c |p_c − p̂_c| over category codes, (n,), those present; NaN when either has none."""
    shares = []
    for codes in (original, released):
        counts = np.bincount(codes[codes >= 0], minlength=categories)
        if not counts.any():
            return float("nan")
        shares.append(counts / counts.sum())
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _refuse_empty(*samples: FloatArray) -> None:
    if any(len(sample) == 0 for sample in samples):
        raise ValueError("a distance needs at least one value on each side")


BINS = 10

COMPARED_RECORDS = 20_000
"""Scores change by less than a hundredth with more records."""


class Quality(NamedTuple):
    """Each from 0 to 1; NaN where there is no column, or no pair."""

    columns: float
    pairs: float

    @property
    def mean(self) -> float:
        """Columns and pairs count alike; only columns where there is one column."""
        return self.columns if np.isnan(self.pairs) else (self.columns + self.pairs) / 2


def quality(original: MixedTable, released: MixedTable, rng: np.random.Generator) -> Quality:
    """The quality of `released`, from at most `COMPARED_RECORDS` of either table."""
    original, released = (
        each.taken(rng.permutation(each.records)[:COMPARED_RECORDS])
        for each in (original, released)
    )
    shapes = [
        1 - kolmogorov_smirnov(before[~np.isnan(before)], after[~np.isnan(after)])
        for before, after in zip(original.numeric.T, released.numeric.T, strict=True)
        if not np.isnan(before).all() and not np.isnan(after).all()
    ]
    shapes += [
        1 - total_variation(before, after, known)
        for before, after, known in zip(
            original.codes.T, released.codes.T, original.categories, strict=True
        )
    ]
    trends = _number_trends(original, released) + _joint_trends(original, released)
    return Quality(_mean(shapes), _mean(trends))


def _number_trends(original: MixedTable, released: MixedTable) -> list[float]:
    p = original.numeric.shape[1]
    if p < 2:
        return []
    gaps = np.abs(pearson(original.numeric) - pearson(released.numeric))[np.triu_indices(p, 1)]
    return [float(1 - gap / 2) for gap in gaps]


def _joint_trends(original: MixedTable, released: MixedTable) -> list[float]:
    """Pairs with a category in them."""
    columns = []
    for before, after in zip(original.numeric.T, released.numeric.T, strict=True):
        known = before[~np.isnan(before)]
        least, most = (known.min(), known.max()) if known.size else (0.0, 1.0)
        edges = np.linspace(least, most, BINS + 1)[1:-1]
        columns.append((_binned(before, edges), _binned(after, edges), BINS + 1))
    numbers = len(columns)
    for before, after, known in zip(
        original.codes.T, released.codes.T, original.categories, strict=True
    ):
        columns.append((before + 1, after + 1, known + 1))
    return [
        1
        - total_variation(
            columns[i][0] * columns[j][2] + columns[j][0],
            columns[i][1] * columns[j][2] + columns[j][1],
            columns[i][2] * columns[j][2],
        )
        for i in range(len(columns))
        for j in range(max(numbers, i + 1), len(columns))
    ]


def _binned(values: FloatArray, edges: FloatArray) -> Places:
    """Bins 1 … BINS, 0 for missing."""
    return np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="right") + 1)


def _mean(scores: list[float]) -> float:
    known = [score for score in scores if np.isfinite(score)]
    return float(np.mean(known)) if known else float("nan")
