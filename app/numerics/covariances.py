"""Covariance matrices of any rank: factors, and the nearest positive semidefinite matrix.

A factor of a covariance turns unit noise into noise shaped like the data: noise must have the correlations of the data or
it can be filtered out [li2012, section 3.1].

| here | li2012 | meaning |
| --- | --- | --- |
| K | K_X | covariance of the rows, d × d |
| L | | a factor: K = L·Lᵀ, d × r |
| r | | rank of K; r < d when columns depend on each other linearly |
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray

ROUNDING = 1e-10
"""Negative eigenvalues up to this share of the largest are rounding, not indefiniteness."""


def nearest_semidefinite(matrix: FloatArray, scale: FloatArray) -> tuple[FloatArray, float]:
    """The nearest positive semidefinite matrix, and the share of eigenvalues' size that it lost.

    Nearest in the Frobenius norm [higham1988, thm. 2.1] after dividing row and column j by `scale[j]`, so that the answer
    does not depend on units. A share of 0 says that the matrix was semidefinite already.
    """
    unit = np.where(scale > 0, scale, 1.0)
    scaled = matrix / np.outer(unit, unit)
    eigenvalues, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    size = np.abs(eigenvalues).max()
    if eigenvalues[0] >= -ROUNDING * max(size, ROUNDING):
        return (matrix + matrix.T) / 2, 0.0
    kept = np.maximum(eigenvalues, 0.0)
    nearest = (vectors * kept) @ vectors.T
    removed = float((kept - eigenvalues).sum() / np.abs(eigenvalues).sum())
    return nearest * np.outer(unit, unit), removed


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
    if values[0] < -max(rounding, ROUNDING * values[-1]):
        raise ValueError("a covariance has no negative eigenvalue")
    if values[0] > rounding:
        return np.ascontiguousarray(sd[:, np.newaxis] * np.linalg.cholesky(correlation))
    kept = values > rounding
    return np.ascontiguousarray(sd[:, np.newaxis] * vectors[:, kept] * np.sqrt(values[kept]))
