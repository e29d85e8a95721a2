"""Mean, scale and correlation of a table of any rank: standardisation and its inverse.

[hsu2008, tables 2 to 4]: every method normalises first and restores last. Constant columns have no
direction and collinear ones share theirs, so the correlation matrix is factored at its rank.

| symbol | name here | meaning |
| --- | --- | --- |
| E[X_j] | `mean`, (d,) | |
| sqrt(var(X_j)) | `deviation`, (d,) | standard deviation with divisor n; 0 for a constant column |
| V, Λ | `axes` (d, r), `spectrum` (r,) | eigenvectors and eigenvalues of the correlation matrix, largest first |
| L | `factor`, (d, r) | lower trapezoidal, L·Lᵀ = V·Λ·Vᵀ |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from app.errors import InvalidTable
from app.numerics.arrays import FloatArray

RANK_TOLERANCE = 1e-13
"""An eigenvalue below d·RANK_TOLERANCE of the largest is rounding, not a direction of the data."""


@dataclass(frozen=True)
class FactoredMoments:
    """First and second moments of a table, factored at their rank."""

    mean: FloatArray
    deviation: FloatArray
    axes: FloatArray
    spectrum: FloatArray

    @property
    def rank(self) -> int:
        return int(self.spectrum.size)

    @property
    def factor(self) -> FloatArray:
        """L, (d, r): the Cholesky factor where the matrix is regular, its trapezoid where it is not.

        With B = V·Λ^½ and the triangular factorisation Bᵀ = Q·R follows B·Bᵀ = Rᵀ·R, so L = Rᵀ; no
        pivoting and no failure for a semidefinite matrix.
        """
        upper = linalg.qr((self.axes * np.sqrt(self.spectrum)).T, mode="r")[0]
        lower: FloatArray = upper.T * np.where(np.diag(upper) < 0, -1.0, 1.0)
        return lower


def moments(values: FloatArray) -> FactoredMoments:
    """The moments of `values` (n, d), finite throughout.

    Raises InvalidTable for fewer than two records or for a table without any variation: there is
    nothing that a synthesis could reproduce.
    """
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError("values must be a finite matrix")
    n, d = values.shape
    if n < 2:
        raise InvalidTable("A synthesis needs at least two records.", records=n, needed=2)
    mean, deviation = centre_and_spread(values)
    if not deviation.any():
        raise InvalidTable(
            "Every column is constant: there is no variation to reproduce.", records=n
        )
    normal = _normalised(values, mean, deviation)
    spectrum, axes = linalg.eigh(normal.T @ normal / n)
    kept = np.flatnonzero(spectrum > d * RANK_TOLERANCE * spectrum[-1])[::-1]
    axes = axes[:, kept]
    # An eigenvector's sign is the library's whim; the same table must give the same synthesis.
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(kept.size)])
    return FactoredMoments(mean, deviation, axes, spectrum[kept])


def centre_and_spread(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation (divisor n) of each column of `values` (n, d), 0 where constant."""
    # In units of a power of two near the largest magnitude, squares of very large or very small
    # values stay in range, and the division itself is exact.
    unit = np.exp2(np.frexp(np.abs(values).max(axis=0))[1].astype(float) - 1)
    shares = values / unit
    mean = shares.mean(axis=0)
    mean += (shares - mean).mean(axis=0)
    deviation = np.sqrt(np.square(shares - mean).mean(axis=0))
    constant = values.max(axis=0) == values.min(axis=0)
    return np.where(constant, values[0], mean * unit), np.where(constant, 0.0, deviation * unit)


def normalised(values: FloatArray, of: FactoredMoments) -> FloatArray:
    """(X − E[X]) / sqrt(var(X)), zero in constant columns [hsu2008, table 2, step 1]."""
    return _normalised(values, of.mean, of.deviation)


def restored(normal: FloatArray, of: FactoredMoments) -> FloatArray:
    """X·sqrt(var) + E[X].

    Departs from [hsu2008, table 2, step 5]: as printed the root covers the mean as well, which is
    not defined for a negative mean and inverts nothing.
    """
    return normal * of.deviation + of.mean


def whitened(seeds: FloatArray) -> FloatArray:
    """`seeds` (n', r) made exactly of mean 0 and covariance I, by Gram-Schmidt [hsu2008, table 4, step 2].

    The triangular factor is taken out twice: once leaves an error of the condition number times
    the rounding unit, the second time leaves the rounding unit. Raises LinAlgError for seeds that
    are collinear, as those of very few records may be by chance; `exact_seeds` draws again.
    """
    for _ in range(2):
        seeds = seeds - seeds.mean(axis=0)
        lower = linalg.cholesky(seeds.T @ seeds / len(seeds), lower=True)
        seeds = linalg.solve_triangular(lower, seeds.T, lower=True).T
    return seeds


def _normalised(values: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    return (values - mean) / np.where(deviation > 0, deviation, 1.0)
