"""Numbers behind categories and missing cells, drawn so that correlations are not weakened.

A category is an interval of a latent normal variable, as wide as the category is frequent. Putting
every record in the middle of its interval, or anywhere in it, would weaken the correlation with other
columns; so the latent value is drawn from its distribution given the record's other columns, within
the interval. A missing number is drawn in the same way, without an interval. Covariance and draws take
turns (data augmentation; for mixed columns see Hoff, Extending the rank likelihood for semiparametric
copula estimation, Annals of Applied Statistics 1(1), 2007).

| symbol | name here | meaning |
| --- | --- | --- |
| Z | `latent`, (n, d) | normalised numbers and latent values |
| (a, b) | `lower`, `upper`, (n, d) | where a cell may lie; a = b for a number that is given |
| Ω | `precision`, (d, d) | inverse of the correlation matrix of Z |
| z_j given the rest | | N(−Σ_{k≠j} Ω_jk·z_k / Ω_jj, 1/Ω_jj) |
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, special

from app.numerics.arrays import FloatArray

SWEEPS = 12
"""The correlations of the test tables are at rest after about eight."""

PART_RECORDS = 16_384
"""A table at least four times as long takes its covariance from a part of about this length."""

SWEEPS_AFTER_PART = 4

RIDGE = 1e-6
"""Added to the covariance before it is inverted: collinear columns have no inverse."""


def augmented(lower: FloatArray, upper: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Z, (n, d), each cell within [lower, upper], which may be infinite; given where both are equal."""
    step = len(lower) // PART_RECORDS
    if step >= 4:
        start = augmented(lower[::step], upper[::step], rng)
        sweeps = SWEEPS_AFTER_PART
    else:
        start = None
        sweeps = SWEEPS
    open_columns = np.flatnonzero((lower < upper).any(axis=0))
    latent = lower.copy()
    for column in open_columns:
        latent[:, column] = _drawn(lower[:, column], upper[:, column], 0.0, 1.0, rng)
    for _ in range(sweeps if lower.shape[1] > 1 else 0):
        mean, precision = _mean_and_precision(latent if start is None else start)
        start = None
        for column in open_columns:
            weights = -precision[column] / precision[column, column]
            weights[column] = 0.0
            centre = mean[column] + latent @ weights - mean @ weights
            spread = 1 / np.sqrt(precision[column, column])
            latent[:, column] = _drawn(lower[:, column], upper[:, column], centre, spread, rng)
    return latent


def _mean_and_precision(
    latent: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    mean = latent.mean(axis=0)
    centred = latent - mean
    covariance = centred.T @ centred / len(latent)
    covariance.flat[:: len(covariance) + 1] += RIDGE
    return mean, linalg.inv(covariance)


def _drawn(
    lower: FloatArray,
    upper: FloatArray,
    centre: FloatArray | float,
    spread: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Normal draws with the given centre and spread, each within its interval, by inversion.

    An interval in the upper tail is mirrored to the lower one, where Φ keeps its digits.
    """
    low, high = (lower - centre) / spread, (upper - centre) / spread
    mirrored = low > -high
    start, stop = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    uniform = rng.uniform(np.finfo(float).tiny, 1.0, lower.shape)
    below, above = special.log_ndtr(start), special.log_ndtr(stop)
    # Φ(a) + u·(Φ(b) − Φ(a)), in logarithms so that a far tail does not vanish.
    draw = special.ndtri_exp(np.logaddexp(below + np.log1p(-uniform), above + np.log(uniform)))
    value = centre + spread * np.where(mirrored, -draw, draw)
    within: FloatArray = np.clip(value, lower, upper)
    return within
