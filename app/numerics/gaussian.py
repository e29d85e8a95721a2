"""Mean, covariance and a factor of it, from rows that may have gaps [li2012, sections 2.2 and 3.1].

| here | li2012 | meaning |
| --- | --- | --- |
| X | X | rows, n × d, NaN where a value is missing |
| K | K_X | covariance of the rows, d × d |
| L | | a factor: K = L·Lᵀ, d × r with r the rank of K |
| r | | rank; r < d when columns depend on each other linearly |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """What the rows say about their distribution; see `sample_moments`."""

    mean: FloatArray
    """(d,), the mean of the values that are there."""
    covariance: FloatArray
    """(d, d), positive semidefinite; 0 in the rows and columns of a constant column."""
    present: NDArray[np.int64]
    """(d,), how many values of each column are there."""
    largest: FloatArray
    """(d,), the largest magnitude in each column."""


def sample_moments(blocks: Iterable[FloatArray]) -> Moments:
    """The sample mean and covariance (divisor n - 1) of rows that come in blocks of shape (n_i, d).

    Every entry of the covariance uses all the rows in which both of its columns are there, so that
    gaps in one column do not thin out the others. The matrix of such entries need not be positive
    semidefinite; it is then brought there by `without_negative_eigenvalues`, which keeps the variances.

    Raises ValueError when there is no block, or a value is infinite.
    """
    shift: FloatArray | None = None
    for block in blocks:
        X = np.asarray(block, dtype=np.float64)
        there = ~np.isnan(X)
        if np.isinf(X).any():
            raise ValueError("moments are of finite values")
        if shift is None:
            # Sums of squares about a point near the mean: about zero they would cancel.
            shift = np.where(there, X, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
            d = X.shape[1]
            pairs, sums, products = np.zeros((3, d, d))
            largest = np.zeros(d)
        centred = np.where(there, X - shift, 0.0)
        mask = there.astype(np.float64)
        pairs += mask.T @ mask
        sums += centred.T @ mask
        products += centred.T @ centred
        largest = np.maximum(largest, np.where(there, np.abs(X), 0.0).max(axis=0, initial=0.0))
    if shift is None:
        raise ValueError("moments need at least one block of rows")
    covariance = (products - sums * sums.T / np.maximum(pairs, 1)) / np.maximum(pairs - 1, 1)
    covariance[pairs < 2] = 0.0
    np.fill_diagonal(covariance, np.maximum(np.diag(covariance), 0.0))
    covariance = (covariance + covariance.T) / 2
    present = np.diag(pairs)
    if (pairs != present.max()).any():
        covariance = without_negative_eigenvalues(covariance)
    mean = shift + np.diag(sums) / np.maximum(present, 1)
    return Moments(mean, covariance, present.astype(np.int64), largest)


def without_negative_eigenvalues(K: FloatArray) -> FloatArray:
    """K with the negative eigenvalues of its correlation matrix set to 0 and its variances kept."""
    sd = np.sqrt(np.diag(K))
    scale = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(K / np.outer(scale, scale))
    if values[0] >= 0:
        return K
    correlation = (vectors * np.maximum(values, 0.0)) @ vectors.T
    unit = np.sqrt(np.maximum(np.diag(correlation), np.finfo(np.float64).tiny))
    repaired: FloatArray = correlation / np.outer(unit, unit) * np.outer(sd, sd)
    return repaired


def covariance_factor(K: FloatArray) -> FloatArray:
    """L of shape (d, r) with L·Lᵀ = K, where r is the rank of K.

    The Cholesky factor when K has full rank (then L is lower triangular, which halves the work of
    shaping), else the eigenvectors scaled by the roots of their eigenvalues. The rank is that of
    the correlation matrix, so that it does not depend on the units of the columns.

    Raises ValueError when K is not a covariance: not square, not finite, not symmetric, or with
    an eigenvalue that is negative beyond rounding.
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.isfinite(K).all():
        raise ValueError("a covariance is a square matrix of finite numbers")
    variances = np.diag(K)
    if (variances < 0).any() or not np.allclose(K, K.T, rtol=1e-9, atol=0.0):
        raise ValueError("a covariance is symmetric with variances that are not negative")
    sd = np.sqrt(variances)
    scale = np.where(sd > 0, sd, 1.0)
    correlation = K / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(correlation)
    rounding = len(K) * np.finfo(np.float64).eps * max(values[-1], 0.0) * 8
    if values[0] < -max(rounding, 1e-12):
        raise ValueError("a covariance has no negative eigenvalue")
    if values[0] > rounding:
        return np.ascontiguousarray(sd[:, np.newaxis] * np.linalg.cholesky(correlation))
    kept = values > rounding
    return np.ascontiguousarray(sd[:, np.newaxis] * vectors[:, kept] * np.sqrt(values[kept]))
