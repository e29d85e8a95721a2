"""Association of two columns: correlation, η, Cramér's V, and the bias between two tables.

Pearson, Spearman and Kendall correlation matrices and their relative bias are those of [hsu2008, eqs. 6 to 8 and the
definition after them].

| symbol | name here | meaning |
| --- | --- | --- |
| X | `values`, (n, d) | NaN is missing; a pair of columns is compared where both are present |
| C, Ĉ | `original`, `released`, (d, d) | correlation matrices; NaN where a column does not vary |
| η | `correlation_ratio` | root of the share of a number's rank variance that lies between categories |
| V | `cramers_v` | root of χ²/(n·(min(k, l) − 1)) of the table of counts |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy

from app.numerics.arrays import Flags, FloatArray, Places
from app.numerics.cancellation import checkpoint
from app.numerics.tables import MixedTable

DIRECT_ROWS = 1024
"""Up to here Kendall's matrix comes from all n² signs at once, which is faster than d² sorts."""

BLOCK_ROWS = 64

NO_CORRELATION = 1e-12
"""A correlation this small is zero but for rounding: a bias relative to it has no meaning."""


@dataclass(frozen=True)
class RelativeBias:
    """The mean of |Ĉ_ij − C_ij| / |C_ij| over the pairs that have it, and how many have not."""

    mean: float
    pairs: int
    left_out: int


def pearson(values: FloatArray) -> FloatArray:
    """Correlation, (d, d) [hsu2008, eq. 6]."""
    if np.isnan(values).any():
        return _pairwise(values, lambda x, y: float(pearson(np.column_stack([x, y]))[0, 1]))
    varies = values.max(axis=0) > values.min(axis=0)
    centred = values - values.mean(axis=0)
    centred /= np.where(varies, np.abs(centred).max(axis=0), 1.0)
    products = centred.T @ centred
    return _cosines(products, varies)


def spearman(values: FloatArray) -> FloatArray:
    """Correlation of ranks, (d, d).

    Departs from [hsu2008, eq. 7]: equal values share their mean rank and the ranks are correlated.
    Without ties that is eq. 7; with ties eq. 7 depends on the order of the records.
    """
    if np.isnan(values).any():
        return _pairwise(values, lambda x, y: float(spearman(np.column_stack([x, y]))[0, 1]))
    return pearson(scipy.stats.rankdata(values, axis=0))


def kendall(values: FloatArray) -> FloatArray:
    """Kendall's tau-b, (d, d), in O(n log n) for each pair of columns.

    Departs from [hsu2008, eq. 8]: there a tied pair counts as concordant, so that rounding a table
    raises every coefficient; tau-b leaves ties out. Without ties both are the same.
    """
    if np.isnan(values).any() or len(values) > DIRECT_ROWS:
        return _pairwise(values, lambda x, y: float(scipy.stats.kendalltau(x, y).statistic))
    n, d = values.shape
    products = np.zeros((d, d))
    columns = np.ascontiguousarray(values.T)
    for start in range(0, n, BLOCK_ROWS):
        block = columns[:, start : start + BLOCK_ROWS, None]
        signs = (block > columns[:, None, :]).astype(np.float32)
        signs -= block < columns[:, None, :]
        signs = signs.reshape(d, -1)
        products += signs @ signs.T  # at most 64 · 1024 ones: exact in single precision
    return _cosines(products, np.diag(products) > 0)


CORRELATIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {"pearson": pearson, "spearman": spearman, "kendall": kendall}
)


def relative_bias(original: FloatArray, released: FloatArray) -> RelativeBias:
    """2/(d²+d)·Σ_{i≤j} |Ĉ_ij − C_ij| / |C_ij|: the upper triangle with the diagonal, as in [hsu2008].

    Pairs without a correlation (a constant column) or with a correlation of zero are left out and
    counted. The mean is NaN when no pair is left.
    """
    upper = np.triu_indices(len(original))
    before, after = original[upper], released[upper]
    usable = np.isfinite(before) & np.isfinite(after) & (np.abs(before) > NO_CORRELATION)
    biases = np.abs(after[usable] - before[usable]) / np.abs(before[usable])
    mean = float(biases.mean()) if biases.size else float("nan")
    return RelativeBias(mean, int(usable.sum()), int((~usable).sum()))


def _cosines(products: FloatArray, varies: Flags) -> FloatArray:
    lengths = np.sqrt(np.where(varies, np.diag(products), np.nan))
    cosines = products / np.outer(lengths, lengths)
    np.fill_diagonal(cosines, np.where(varies, 1.0, np.nan))
    within: FloatArray = np.clip(cosines, -1.0, 1.0)
    return within


def _pairwise(
    values: FloatArray, coefficient: Callable[[FloatArray, FloatArray], float]
) -> FloatArray:
    """A matrix of coefficients, each from the records where both columns are present and vary."""
    d = values.shape[1]
    present = ~np.isnan(values)
    matrix = np.full((d, d), np.nan)
    for i in range(d):
        for j in range(i + 1):
            checkpoint()
            both = present[:, i] & present[:, j]
            x, y = values[both, i], values[both, j]
            if both.any() and np.ptp(x) > 0 and np.ptp(y) > 0:
                matrix[i, j] = matrix[j, i] = 1.0 if i == j else coefficient(x, y)
    return matrix


MOST_CATEGORIES = 200
"""Columns of more categories are left out: their table of counts is mostly empty."""


class AssociationBias(NamedTuple):
    """The mean of |association in the release − in the original| over pairs of columns; NaN without pairs."""

    mean: float
    pairs: int


def association_biases(original: MixedTable, released: MixedTable) -> dict[str, AssociationBias]:
    """By measure: numbers with categories, and categories with categories."""
    small = [j for j, known in enumerate(original.categories) if 2 <= known <= MOST_CATEGORIES]
    ratios = [
        [correlation_ratio(each.numeric[:, i], each.codes[:, j]) for each in (original, released)]
        for i in range(original.numeric.shape[1])
        for j in small
    ]
    cramers = [
        [
            cramers_v(each.codes[:, i], each.codes[:, j], *(original.categories[k] for k in (i, j)))
            for each in (original, released)
        ]
        for place, i in enumerate(small)
        for j in small[:place]
    ]
    return {"correlation_ratio": _bias(ratios), "cramers_v": _bias(cramers)}


def correlation_ratio(numbers: FloatArray, codes: Places) -> float:
    """η of the ranks of `numbers` (n,) given categories `codes` (n,), where both are present; NaN if constant."""
    checkpoint()
    both = ~np.isnan(numbers) & (codes >= 0)
    if not both.any():
        return float("nan")
    ranks, codes = scipy.stats.rankdata(numbers[both]), codes[both]
    centred = ranks - ranks.mean()
    total = float(centred @ centred)
    if total == 0:
        return float("nan")
    counts = np.bincount(codes)
    sums = np.bincount(codes, weights=centred)
    between = float((sums[counts > 0] ** 2 / counts[counts > 0]).sum())
    return float(np.sqrt(min(1.0, between / total)))


def cramers_v(first: Places, second: Places, categories: int, others: int) -> float:
    """V of two columns of codes, (n,) each, where both are present; NaN where one of them is constant."""
    checkpoint()
    both = (first >= 0) & (second >= 0)
    counts = np.zeros((categories, others))
    np.add.at(counts, (first[both], second[both]), 1)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if min(counts.shape) < 2:
        return float("nan")
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    chi_square = float((np.square(counts - expected) / expected).sum())
    return float(np.sqrt(chi_square / (counts.sum() * (min(counts.shape) - 1))))


def _bias(pairs: list[list[float]]) -> AssociationBias:
    gaps = [abs(after - before) for before, after in pairs if np.isfinite([before, after]).all()]
    return AssociationBias(float(np.mean(gaps)) if gaps else float("nan"), len(gaps))
