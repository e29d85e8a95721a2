"""Schemes and errors of li2012 as its theorems state them, for experiments and tests; the service computes none of it.

[li2012, sections 5.1.1 and 5.2, theorems 3 and 4].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.closed_forms import single_copy_error
from app.numerics.copies.path import bridges


def coefficient_rows(variances: Sequence[float]) -> FloatArray:
    """C of shape (m, m), lower triangular: B(v_i) = Σ_j C_ij·g_j for levels in order of arrival.

    C·Cᵀ = min(v_i, v_j) [li2012, theorem 4 and eq. 15 as `path` corrects it]. This is algorithm 1
    (every level known at the start, in any order) and algorithm 3 (one at a time) alike.
    """
    rows = np.zeros((len(variances), len(variances)))
    for position, bridge in enumerate(bridges(variances)):
        if bridge.lower is not None:
            rows[position] += bridge.lower_weight * rows[bridge.lower]
        if bridge.upper is not None:
            rows[position] += bridge.upper_weight * rows[bridge.upper]
        rows[position, position] = bridge.fresh_sd
    return rows


def independent_coefficients(variances: Sequence[float]) -> FloatArray:
    """diag(√v_i), the scheme that fails [li2012, section 5.1.1]."""
    return np.diag(np.sqrt(np.asarray(variances, dtype=np.float64)))


def shaped_noise(coefficients: FloatArray, normals: FloatArray, factor: FloatArray) -> FloatArray:
    """Z of shape (m, n, d): Z_i = (Σ_j C_ij·g_j)·Lᵀ, for C (m, m), g (m, n, r) and L (d, r)."""
    paths = np.tensordot(coefficients, normals, axes=1)
    shaped: FloatArray = paths @ factor.T
    return shaped


def independent_copies_error(noise_variances: FloatArray, covariance: FloatArray) -> FloatArray:
    """(1 + Σ 1/v_i)⁻¹·K: error of the joint LLSE, fresh noise per copy [li2012, theorem 3]."""
    variances = np.asarray(noise_variances, dtype=float)
    if (variances == 0).any():
        return np.zeros_like(covariance)
    return covariance / (1 + np.sum(1 / variances))


def cornerwave_copies_error(noise_variances: FloatArray, covariance: FloatArray) -> FloatArray:
    """Error from corner-wave copies: that of the least perturbed one alone [li2012, theorem 4]."""
    return single_copy_error(float(np.min(noise_variances)), covariance)
