"""Univariate attacks: each attribute alone [huang2005, section 4].

| here | huang2005 | meaning |
| --- | --- | --- |
| f_X, densities | f_X | distribution of one original attribute, as bin centres and probabilities |
| f_R | f_R | density of the noise, here normal with the attribute's noise variance |
| y, observed | y | the disguised values |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import Observation
from app.numerics.deconvolution.bins import support_behind, uniform_edges
from app.numerics.deconvolution.em import em_on_bins
from app.numerics.deconvolution.noise import Normal

CELLS_AT_ONCE = 2**15
"""Posterior weights worked on at a time: few enough to stay in a core's cache."""

SMOOTHING_BINS = 0.5
"""Standard deviation, in bins, of the smoothing between the steps of EM."""

Density = tuple[FloatArray, FloatArray]
"""A distribution on bins: centres and probabilities, both of the same length."""


def noise_distribution_reconstruction(observation: Observation) -> FloatArray:
    """NDR: guess that the noise was zero, x̂ = y [huang2005, section 4.1]. n × d."""
    return observation.values.copy()


def univariate_distribution_reconstruction(
    observation: Observation, densities: Sequence[Density]
) -> FloatArray:
    """UDR: the posterior mean of every cell given its own disguised value, n × d.

    One density per attribute, given or estimated. Attributes are taken as independent, the noise
    as normal with the variances on the diagonal of the noise covariance [huang2005, eq. 4].
    """
    if len(densities) != observation.values.shape[1]:
        raise ValueError("one density per attribute")
    variances = np.diag(observation.noise_covariance)
    columns = [
        posterior_mean(observation.values[:, j], density, float(variances[j]))
        for j, density in enumerate(densities)
    ]
    return np.column_stack(columns)


def posterior_mean(observed: FloatArray, density: Density, noise_variance: float) -> FloatArray:
    """E(x | y) = Σ x·f_X(x)·f_R(y-x) / Σ f_X(x)·f_R(y-x) over the bins, n [huang2005, eq. 4].

    Weights are compared by their logarithms, so a value far outside all bins gets the bin nearest
    to it instead of 0/0. Without noise the answer is y. O(n·bins).
    """
    centres, probabilities = density
    if centres.shape != probabilities.shape or not np.any(probabilities > 0):
        raise ValueError("a density needs as many probabilities as centres, some positive")
    if noise_variance == 0:
        return observed.copy()
    used = probabilities > 0
    centres, log_prior = centres[used], np.log(probabilities[used])
    means = np.empty(len(observed))
    step = max(1, CELLS_AT_ONCE // len(centres))
    for start in range(0, len(observed), step):
        block = observed[start : start + step, None]
        log_weights = log_prior - (block - centres) ** 2 / (2 * noise_variance)
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        means[start : start + step] = weights @ centres / weights.sum(axis=1)
    return means


def estimated_densities(observation: Observation, bins: int) -> list[Density]:
    """f_X of every attribute, estimated from its disguised values by EM on bins [wu2003, section 3].

    A little smoothing between iterations keeps the estimate from ringing. An attribute without
    noise, or whose disguised values are all equal, is its own estimate.
    """
    variances = np.diag(observation.noise_covariance)
    return [
        _estimated_density(observation.values[:, j], float(variance), bins)
        for j, variance in enumerate(variances)
    ]


def _estimated_density(observed: FloatArray, noise_variance: float, bins: int) -> Density:
    if noise_variance == 0 or _is_one_value(observed, bins):
        return histogram_density(observed, bins)
    noise = Normal(noise_variance)
    edges = uniform_edges(*support_behind(observed, noise), bins)
    estimate = em_on_bins(observed, noise, edges, smoothing_bins=SMOOTHING_BINS)
    return estimate.centres, estimate.probabilities


def histogram_density(values: FloatArray, bins: int) -> Density:
    """The histogram of the original attribute itself: f_X for an adversary who knows it.

    One bin for values so close to each other that doubles have no edges between them.
    """
    if _is_one_value(values, bins):
        return np.array([values.mean()]), np.ones(1)
    counts, edges = np.histogram(values, bins=bins)
    return (edges[:-1] + edges[1:]) / 2, counts / counts.sum()


def _is_one_value(values: FloatArray, bins: int) -> bool:
    return bool(np.ptp(values) <= 4 * bins * np.spacing(np.abs(values).max()))
