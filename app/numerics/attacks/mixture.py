"""Non-linear attack: posterior mean under a Gaussian mixture [li2012, section 7].

| here | meaning |
| --- | --- |
| α_k, µ_k, V_k | weight, mean and covariance of component k of the original's distribution |
| r_ik | probability that row i comes from component k, given its disguised values |
| Σ | covariance of the noise |

li2012 leaves non-linear adversaries open. This one fits a mixture to the *original's* distribution
from disguised rows alone: in each EM step every component sees its rows through its own LLSE, so the
noise is deconvolved on the way. The estimate is the mean of the components' LLSEs weighted by
r_ik: with one component it is BE-DR, with more it is no longer linear in y and profits from
clumps, skew and heavy tails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import LinearEstimate, Observation, linear_estimate
from app.numerics.attacks.evidence import Knowledge
from app.numerics.cancellation import checkpoint

MOST_ITERATIONS = 100
SMALLEST_GAIN = 1e-5
"""EM stops when a step gains less log-likelihood per row than this."""
TRACE = 1e-6
"""Rows that every component keeps at least."""
RIDGE = 1e-9
"""Least variance of a component in any direction, in units of the disguised data's or its own."""


@dataclass(frozen=True)
class Mixture:
    """Components of a distribution: weights (k), means (k × d), covariances (k × d × d)."""

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray


def mixture_reconstruction(
    observation: Observation,
    knowledge: Knowledge,
    components: int,
    rng: np.random.Generator,
    most_rows: int = 5000,
) -> FloatArray:
    """The posterior mean of every row under a mixture fitted to at most `most_rows` of them, n × d.

    Starts from the clusters of the linear estimate. Works in coordinates in which the disguised
    data have the identity as covariance and collinear directions are left out, so that
    neither units nor constant columns matter. O(iterations·most_rows·components·d²).
    """
    if components < 1:
        raise ValueError("a mixture has at least one component")
    whiten, colour = _whitening(knowledge.covariance + observation.noise_covariance)
    if whiten.shape[1] == 0:
        return observation.values.copy()  # nothing varies, so nothing is to be told apart
    centred = observation.values - knowledge.mean
    rows = centred @ whiten
    noise = whiten.T @ observation.noise_covariance @ whiten
    chosen = rows[rng.choice(len(rows), size=min(len(rows), most_rows), replace=False)]
    start = _clustered(chosen, whiten.T @ knowledge.covariance @ whiten, noise, components, rng)
    fitted = fitted_mixture(chosen, noise, start)
    unexplained = centred - rows @ colour
    values: FloatArray = (
        knowledge.mean + posterior_mean_of_mixture(rows, noise, fitted) @ colour + unexplained
    )
    return values


def posterior_mean_of_mixture(
    observed: FloatArray, noise_covariance: FloatArray, mixture: Mixture
) -> FloatArray:
    """Σ_k r_ik·x̂_ik, n × d: the components' LLSEs, weighted by how likely each component is."""
    estimates, responsibilities, _ = _expectation(observed, noise_covariance, mixture)
    mean = np.zeros_like(observed)
    for estimate, share in zip(estimates, responsibilities, strict=True):
        mean += share[:, None] * estimate.values
    return mean


def fitted_mixture(observed: FloatArray, noise_covariance: FloatArray, start: Mixture) -> Mixture:
    """The mixture whose sum with the noise is likeliest to yield `observed` (n × d), by EM."""
    mixture, likelihood = start, -np.inf
    for _ in range(MOST_ITERATIONS):
        estimates, responsibilities, reached = _expectation(observed, noise_covariance, mixture)
        if reached - likelihood < SMALLEST_GAIN:
            break
        mixture, likelihood = _maximisation(estimates, responsibilities), reached
    return mixture


def _expectation(
    observed: FloatArray, noise_covariance: FloatArray, mixture: Mixture
) -> tuple[list[LinearEstimate], FloatArray, float]:
    """Every component's LLSE of every row, r (k × n), and the mean log-likelihood of a row."""
    estimates = []
    log_joint = np.empty((len(mixture.weights), len(observed)))
    parts = zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
    for k, (weight, mean, covariance) in enumerate(parts):
        checkpoint()
        estimates.append(linear_estimate(observed, mean, covariance, noise_covariance))
        factor = np.linalg.cholesky(covariance + noise_covariance)
        standard = solve_triangular(factor, (observed - mean).T, lower=True)
        log_joint[k] = np.log(weight) - np.log(np.diag(factor)).sum() - (standard**2).sum(0) / 2
    log_density = logsumexp(log_joint, axis=0)
    return estimates, np.exp(log_joint - log_density), float(log_density.mean())


def _maximisation(estimates: list[LinearEstimate], responsibilities: FloatArray) -> Mixture:
    d = estimates[0].values.shape[1]
    weights, means, covariances = [], [], []
    for estimate, share in zip(estimates, responsibilities, strict=True):
        # A component that lost all its rows keeps a trace of them, and so a defined covariance.
        total = share.sum() + TRACE
        mean = share @ estimate.values / total
        spread = estimate.values - mean
        scatter = (spread * share[:, None]).T @ spread / total
        weights.append(total)
        means.append(mean)
        covariance = scatter + estimate.error_covariance
        ridge = RIDGE * max(1.0, float(np.diag(covariance).max()))
        covariances.append(covariance + ridge * np.eye(d))
    return Mixture(np.array(weights) / np.sum(weights), np.array(means), np.array(covariances))


def _clustered(
    observed: FloatArray,
    covariance: FloatArray,
    noise_covariance: FloatArray,
    components: int,
    rng: np.random.Generator,
) -> Mixture:
    """A first mixture: clusters of the linear estimate, each as wide as what they leave over."""
    linear = linear_estimate(observed, np.zeros(len(covariance)), covariance, noise_covariance)
    distances = _distances_to_spread_rows(linear.values, components, rng)
    nearest = np.argmin(distances, axis=0)
    responsibilities = (nearest == np.arange(len(distances))[:, None]).astype(float)
    return _maximisation([linear] * len(distances), responsibilities)


def _distances_to_spread_rows(
    values: FloatArray, count: int, rng: np.random.Generator
) -> FloatArray:
    """Squared distances of all rows to `count` rows far apart (k-means++), fewer if rows repeat.

    Every next row is drawn with a probability that grows with its distance to those before.
    """
    first = values[rng.integers(len(values))]
    distances = [((values - first) ** 2).sum(axis=1)]
    while len(distances) < count:
        nearest = np.min(distances, axis=0)
        if not nearest.sum() > RIDGE:
            break
        chosen = values[rng.choice(len(values), p=nearest / nearest.sum())]
        distances.append(((values - chosen) ** 2).sum(axis=1))
    return np.stack(distances)


def _whitening(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """W (d × r) with WᵀCW = I, and its pseudoinverse (r × d), r the rank of C."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    eigenvalues, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = eigenvalues > len(covariance) * np.finfo(float).eps * eigenvalues[-1]
    root = np.sqrt(eigenvalues[kept])
    return vectors[:, kept] / root / scale[:, None], (vectors[:, kept] * root).T * scale
