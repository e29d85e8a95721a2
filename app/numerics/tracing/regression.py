"""Which copies a found table was made of: T - Y_0 regressed on the differences Y_r - Y_0.

| here | meaning |
|---|---|
| T, Y_0 | found rows and the rows of the least perturbed copy that they are matched to, (p, k) |
| D_r | Y_r - Y_0 of the same rows, for recipients 1 ≤ r ≤ R |
| w | (R,), T = Y_0 + Σ_r w_r·D_r + e: the share that each copy has in the table |

Everything is in units of the noise, in which all columns count alike. D_r is a path's increment and does
not depend on Y_0: of who has no part in the table w_r/s_r is standard normal, s_r its standard error. Wrong
matches are rows with large residuals: those beyond four typical ones are left out, and the rest is
regressed again. Standard errors hold for residuals that differ from row to row (White's).

The chance of naming somebody wrongly is that of R such normals together, by Bonferroni.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import norm

from app.numerics.arrays import FloatArray
from app.numerics.copies.shapes.shape import shape_factor

TRIMMINGS = 5
TYPICAL = 4.0
"""Residuals are left out beyond so many times their median length."""

FEWEST_ROWS = 10

LEAST_ERROR = 1e-3
"""Released numbers lie on a grid, and a table that is a copy to the bit has residuals of rounding alone."""


@dataclass(frozen=True)
class Share:
    """One recipient's share in a found table.

    where:
        weight          w_r
        standard_error  s_r
        error_chance    that someone without a part would be given so much, of all recipients together
    """

    weight: float
    standard_error: float
    error_chance: float


def shares(
    found: FloatArray, base: FloatArray, copies: Sequence[FloatArray], noise: FloatArray
) -> list[Share] | None:
    """The share of each copy in the found rows; None where too few rows tell.

    `found`, `base` and each of `copies` are (p, k), row by row the same; `noise` is the covariance of
    the noise of `base`, (k, k).
    """
    R = len(copies)
    L = shape_factor(noise)
    target = _whitened(found - base, L)
    D = np.stack([_whitened(copy - base, L) for copy in copies], axis=2)
    there = np.ones(len(found), dtype=bool)
    weights = np.zeros(R)
    for _ in range(TRIMMINGS):
        # As many values as a regression of R shares needs to have errors at all.
        if there.sum() < max(FEWEST_ROWS, 2 * R / found.shape[1]):
            return None
        weights = _fitted(target[there], D[there])
        lengths = np.linalg.norm(target - D @ weights, axis=1)
        kept = lengths <= TYPICAL * np.median(lengths[there]) + np.finfo(np.float64).tiny
        if (kept == there).all():
            break
        there = kept
    errors = np.maximum(_standard_errors(target[there], D[there], weights), LEAST_ERROR)
    chances = R * norm.sf(weights / errors)
    return [
        Share(float(w), float(s), float(min(1.0, chance)))
        for w, s, chance in zip(weights, errors, chances, strict=True)
    ]


def _whitened(rows: FloatArray, L: FloatArray) -> FloatArray:
    unit = np.sqrt((L**2).sum(axis=1))
    return np.asarray(solve_triangular(L / unit[:, None], (rows / unit).T, lower=True).T)


def _fitted(target: FloatArray, D: FloatArray) -> FloatArray:
    design = D.reshape(-1, D.shape[2])
    return np.asarray(np.linalg.lstsq(design, target.ravel(), rcond=None)[0])


def _standard_errors(target: FloatArray, D: FloatArray, weights: FloatArray) -> FloatArray:
    """Roots of the diagonal of (XᵀX)⁻¹·Σ_i x_i·e_i·e_iᵀ·x_iᵀ·(XᵀX)⁻¹, rows i being independent."""
    design = D.reshape(-1, D.shape[2])
    inverse = np.linalg.pinv(design.T @ design, hermitian=True)
    scores = np.einsum("pkr,pk->pr", D, target - D @ weights)
    freedom = len(target) / max(len(target) - D.shape[2] / D.shape[1], 1.0)
    squares = np.diag(inverse @ (scores.T @ scores) @ inverse) * freedom
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))
