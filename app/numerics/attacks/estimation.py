"""The linear least squares estimate (LLSE) of a table from a disguised one [huang2005, li2012].

| here | huang2005 | li2012 | meaning |
| --- | --- | --- | --- |
| y, observed | y | Y | what the adversary sees, n × d |
| µ, mean | µ_x | µ_X | what it would guess without y |
| K, covariance | Σ_x | K_X | how far the truth is from that guess |
| Σ, noise_covariance | Σ_r | K_Z | how far y is from the truth |

Eq. 4 of li2012, K(K+Σ)⁻¹(y-µ) + µ, and eqs. 11 and 13 of huang2005, (K⁻¹+Σ⁻¹)⁻¹(K⁻¹µ+Σ⁻¹y), are
one estimator. It is computed here once, in the form y - Σ(K+Σ)⁺(y-µ), which needs the inverse of
neither K nor Σ, and returns y exactly where there is no noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray


@dataclass(frozen=True)
class Estimate:
    """A reconstructed table (n × d) and the covariance (d × d) of its error, as far as known."""

    values: FloatArray
    error_covariance: FloatArray


def linear_estimate(
    observed: FloatArray,
    mean: FloatArray,
    covariance: FloatArray,
    noise_covariance: FloatArray,
) -> Estimate:
    """The LLSE of x from y = x + noise [li2012, eqs. 4 and 7; huang2005, eqs. 11 and 13].

    `mean` is one guess for all rows (d) or one per row (n × d), so that an estimate can serve as
    the mean of the next. The error covariance is the parallel sum K(K+Σ)⁺Σ = (K⁻¹+Σ⁻¹)⁻¹.
    Both covariances must be positive semidefinite, either may be singular; wrong shapes are a
    ValueError. O(d³ + n·d²).
    """
    _require_shapes(observed, mean, covariance, noise_covariance)
    correction = noise_share(covariance, noise_covariance)
    values = observed - (observed - mean) @ correction.T
    error = correction @ covariance
    return Estimate(values, (error + error.T) / 2)


def noise_share(covariance: FloatArray, noise_covariance: FloatArray) -> FloatArray:
    """Σ(K+Σ)⁺, d × d: the part of y - µ that is put down to noise."""
    return regression(noise_covariance, covariance + noise_covariance)


def regression(shared: FloatArray, own: FloatArray) -> FloatArray:
    """shared·own⁺, a × b: coefficients of a variables on b others, from their covariances.

    `shared` is a × b, `own` the b × b covariance of the others. The pseudoinverse is taken after
    scaling it to a unit diagonal, so that attributes measured in large units do not make small
    ones look like rounding errors.
    """
    scale = np.sqrt(np.diag(own))
    scale = np.where(scale > 0, scale, 1.0)
    inverse = semidefinite_pseudoinverse(own / np.outer(scale, scale))
    coefficients: FloatArray = (shared / scale) @ inverse / scale
    return coefficients


def semidefinite_pseudoinverse(matrix: FloatArray) -> FloatArray:
    """The pseudoinverse of a positive semidefinite matrix whose diagonal is about 1."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    kept = eigenvalues > len(matrix) * np.finfo(float).eps * max(eigenvalues[-1], 0.0)
    inverse: FloatArray = (vectors[:, kept] / eigenvalues[kept]) @ vectors[:, kept].T
    return inverse


def _require_shapes(
    observed: FloatArray, mean: FloatArray, covariance: FloatArray, noise: FloatArray
) -> None:
    d = observed.shape[-1]
    if observed.ndim != 2 or covariance.shape != (d, d) or noise.shape != (d, d):
        raise ValueError("observed must be n × d and both covariances d × d")
    if mean.shape not in ((d,), observed.shape):
        raise ValueError("mean must be of length d, or n × d")
