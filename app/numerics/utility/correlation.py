"""Pearson, Spearman and Kendall correlation matrices and the relative bias between two of a kind.

[hsu2008, eqs. 6 to 8 and the definition after them].

| symbol | name here | meaning |
| --- | --- | --- |
| X | `values`, (n, d) | NaN is missing; a pair of columns is compared where both are present |
| C, Ĉ | `original`, `released`, (d, d) | correlation matrices; NaN where a column does not vary |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy import stats

from app.numerics.arrays import Flags, FloatArray

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
    return pearson(stats.rankdata(values, axis=0))


def kendall(values: FloatArray) -> FloatArray:
    """Kendall's tau-b, (d, d), in O(n log n) for each pair of columns.

    Departs from [hsu2008, eq. 8]: there a tied pair counts as concordant, so that rounding a table
    raises every coefficient; tau-b leaves ties out. Without ties both are the same.
    """
    if np.isnan(values).any() or len(values) > DIRECT_ROWS:
        return _pairwise(values, lambda x, y: float(stats.kendalltau(x, y).statistic))
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
    values: FloatArray,
    coefficient: Callable[[FloatArray, FloatArray], float],
) -> FloatArray:
    """A matrix of coefficients, each from the records where both columns are present and vary."""
    d = values.shape[1]
    present = ~np.isnan(values)
    matrix = np.full((d, d), np.nan)
    for i in range(d):
        for j in range(i + 1):
            both = present[:, i] & present[:, j]
            x, y = values[both, i], values[both, j]
            if both.any() and np.ptp(x) > 0 and np.ptp(y) > 0:
                matrix[i, j] = matrix[j, i] = 1.0 if i == j else coefficient(x, y)
    return matrix
