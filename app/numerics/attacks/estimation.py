"""Linear least squares estimate (LLSE) of a table from a disguised copy [huang2005, li2012].

| here | huang2005 | li2012 | meaning |
| --- | --- | --- | --- |
| y, observed | y | Y | what the adversary sees, n × d |
| µ, mean | µ_x | µ_X | what it would guess without y |
| K, covariance | Σ_x | K_X | how far the truth is from that guess |
| Σ, noise_covariance | Σ_r | K_Z | how far y is from the truth |

Eq. 4 of li2012, K(K+Σ)⁻¹(y-µ) + µ, and eqs. 11 and 13 of huang2005, (K⁻¹+Σ⁻¹)⁻¹(K⁻¹µ+Σ⁻¹y), are
one estimator. It is computed here once, in the form y - Σ(K+Σ)⁺(y-µ), which needs the inverse of
neither K nor Σ, and returns y exactly where there is no noise.

Some true cells may be known as well, partial value disclosure [huang2005, section 3]. A known cell is an observation
without noise. It corrects the other cells of its row through the errors that they share:
x̂_u + E_uk·E_kk⁺·(x_k - x̂_k), again the LLSE.

| here | meaning |
| --- | --- |
| x̂, E | an estimate of all cells (n × d) and the covariance of its error (d × d) |
| known | the true values, n × d, NaN where the adversary does not know them |
| k, u | the attributes of one row that are known, unknown |

And rows that follow each other in time help to clean each other: sample dependency.

| here | meaning |
| --- | --- |
| reach, h | how many rows before and after a row are looked at |
| window | 2h+1 consecutive rows, stacked into one vector of (2h+1)·d values |
| Γ(l) | autocovariance of the disguised rows at lag l, d × d |

huang2005 (section 3) names serial dependency and leaves it open. The noise is fresh in every row, so
it changes Γ(0) only: the covariance of a window of originals is that of a window of
disguised rows less I ⊗ Σ, and the LLSE on windows is the attack. With h = 0 it is BE-DR.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.covariances import nearest_semidefinite


@dataclass(frozen=True)
class Observation:
    """One disguised table (n × d) and the covariance (d × d) of its noise."""

    values: FloatArray
    noise_covariance: FloatArray


@dataclass(frozen=True)
class LinearEstimate:
    """A reconstructed table (n × d) and the covariance (d × d) of its error, as far as known."""

    values: FloatArray
    error_covariance: FloatArray


def linear_estimate(
    observed: FloatArray,
    mean: FloatArray,
    covariance: FloatArray,
    noise_covariance: FloatArray,
) -> LinearEstimate:
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
    return LinearEstimate(values, (error + error.T) / 2)


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


def disclosed_estimate(estimate: LinearEstimate, known: FloatArray) -> FloatArray:
    """The estimate improved by the cells that are known, n × d; known cells are returned as such.

    Rows that know the same attributes share one solve: O(patterns·d³ + n·d²). `known` must have the
    shape of the estimate (ValueError).
    """
    if known.shape != estimate.values.shape:
        raise ValueError("known must have the shape of the estimate")
    improved, errors = estimate.values.copy(), estimate.error_covariance
    disclosed = ~np.isnan(known)
    patterns, pattern_of_row = np.unique(disclosed, axis=0, return_inverse=True)
    for index, pattern in enumerate(patterns):
        if pattern.any():
            rows = pattern_of_row == index
            surprise = known[np.ix_(rows, pattern)] - improved[np.ix_(rows, pattern)]
            coefficients = regression(errors[:, pattern], errors[np.ix_(pattern, pattern)])
            improved[rows] += surprise @ coefficients.T
    improved[disclosed] = known[disclosed]
    return improved


def serial_smoothing(observation: Observation, reach: int) -> FloatArray:
    """The LLSE of every row from the rows within `reach` of it, n × d.

    Rows nearer than `reach` to an end are estimated within the first or last whole window. Stationary
    rows are assumed. Fewer rows than a window holds are a ValueError.
    O(n·h·d² + (h·d)³).
    """
    values = observation.values
    n, d = values.shape
    length = 2 * reach + 1
    if reach < 0 or n < length:
        raise ValueError("reach must be at least 0, and a window no longer than the table")
    mean = values.mean(axis=0)
    centred = values - mean
    seen = window_covariance(centred, reach)
    noise = np.asarray(np.kron(np.eye(length), observation.noise_covariance), dtype=float)
    original, _ = nearest_semidefinite(seen - noise, scale=np.sqrt(np.diag(seen)))
    share = noise_share(original, noise).reshape(length, d, length, d)

    smoothed: FloatArray = centred.copy()
    interior = slice(reach, n - reach)
    for lag in range(length):
        smoothed[interior] -= centred[lag : n - 2 * reach + lag] @ share[reach, :, lag, :].T
    first, last = centred[:length], centred[n - length :]
    for place in range(reach):
        smoothed[place] -= np.einsum("ajb,jb->a", share[place], first)
        smoothed[n - 1 - place] -= np.einsum("ajb,jb->a", share[length - 1 - place], last)
    smoothed += mean
    return smoothed


def window_covariance(centred: FloatArray, reach: int) -> FloatArray:
    """Covariance of 2·reach+1 consecutive rows, stacked: block (i, j) is Γ(j-i).

    The autocovariances divide by n at every lag, which makes the whole matrix positive
    semidefinite.
    """
    n, d = centred.shape
    length = 2 * reach + 1
    blocks = np.empty((length, d, length, d))
    for lag in range(length):
        autocovariance = centred[: n - lag].T @ centred[lag:] / n
        for i in range(length - lag):
            blocks[i, :, i + lag, :] = autocovariance
            blocks[i + lag, :, i, :] = autocovariance.T
    return blocks.reshape(length * d, length * d)
