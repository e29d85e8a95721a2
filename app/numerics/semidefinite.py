"""Matrices that should be covariances and, by sampling or by gaps in the data, are not quite."""

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
