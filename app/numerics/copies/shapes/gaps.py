"""Covariances of columns with gaps, as those see them who look at the rows that have the cells.

D·Cov(X)·D (`association`) is semidefinite, and has of two columns only the part of their covariance that is
in rows with both: at random gaps of 90 %, a tenth. Correlations of the rows with both are the whole, but of
different rows each, and need not be semidefinite together. So one goes from the first towards the second as
far as it stays within its bounds. Both have the same variances.

| here | meaning |
|---|---|
| X | (n, d), centred, 0 where missing |
| bound | what the result must not exceed in any direction |
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray

HALVINGS = 20
ROUNDING = 1e-9
"""Share of the variances that counts as rounding."""


def paired_covariance(
    products: FloatArray, squares: FloatArray, variances: FloatArray
) -> FloatArray:
    """(d, d): correlations over the rows that have both columns, in these variances (d,).

    Of XᵀX and of Σ X_j² over the rows that have column k, (d, d) both.
    """
    spread = np.sqrt(squares * squares.T)
    correlation = np.divide(products, spread, out=np.zeros_like(spread), where=spread > 0)
    found = np.clip(correlation, -1.0, 1.0) * np.sqrt(np.outer(variances, variances))
    np.fill_diagonal(found, variances)
    return np.asarray(found)


def towards(inner: FloatArray, outer: FloatArray, bound: FloatArray | None = None) -> FloatArray:
    """inner + θ·(outer - inner), θ ≤ 1 as large as leaves it semidefinite and within the bound."""
    unit = np.sqrt(np.diag(inner))
    unit = np.outer(np.where(unit > 0, unit, 1.0), np.where(unit > 0, unit, 1.0))

    def possible(share: float) -> bool:
        found = inner + share * (outer - inner)
        return _semidefinite(found / unit) and (
            bound is None or _semidefinite((bound - found) / unit)
        )

    low, high = 0.0, 1.0
    if possible(high):
        return outer
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return np.asarray(inner + low * (outer - inner))


def within(inner: FloatArray, bound: FloatArray) -> FloatArray:
    """The matrix, (d, d), no larger than the bound in any direction; both are semidefinite."""
    unit = np.sqrt(np.diag(bound))
    unit = np.where(unit > 0, unit, 1.0)
    scaled = bound / unit / unit[:, None] + ROUNDING * np.eye(len(bound))
    L = np.linalg.cholesky(scaled)
    half = np.linalg.solve(L, inner / unit / unit[:, None])
    values, vectors = np.linalg.eigh(np.linalg.solve(L, half.T))
    if not len(values) or values[-1] <= 1 + ROUNDING:
        return inner
    root = (L @ vectors) * np.sqrt(np.clip(values, 0.0, 1.0)) * unit[:, None]
    return np.asarray(root @ root.T)


def told_where_present(
    sums: FloatArray, counts: FloatArray, unit: FloatArray, values: FloatArray
) -> FloatArray:
    """Correlations of indicators and numbers over the rows that have the number, (p, d).

    Of Σ X and counts by category (p, d), and the root of Σ X² and how many there are by column (d,).
    """
    shares = counts / np.maximum(values, 1.0)
    spread = np.sqrt(values * shares * (1 - shares)) * unit
    return np.divide(sums, spread, out=np.zeros_like(sums), where=spread > 0)


def _semidefinite(matrix: FloatArray) -> bool:
    try:
        np.linalg.cholesky(matrix + ROUNDING * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True
