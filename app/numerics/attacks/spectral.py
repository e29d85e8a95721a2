"""Spectral filtering and PCA attacks: keep the principal directions, drop the rest [huang2005].

| here | huang2005 | meaning |
| --- | --- | --- |
| λ, eigenvalues | λ | variances along the principal directions, largest first |
| p | p | how many directions are kept |
| Q̂, directions | Q̂ | the first p eigenvectors, d × p |
| d, n | m, n | attributes, records |
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import Observation
from app.numerics.attacks.evidence import Knowledge

Selection = Callable[[FloatArray], int]
"""How many directions to keep, from the eigenvalues in falling order."""


def largest_gap(eigenvalues: FloatArray) -> int:
    """Keep the directions before the largest fall of the eigenvalues [huang2005, section 5.2.2].

    Departs from [huang2005, section 5.2.2]: the fall from the last eigenvalue to 0 counts as a gap
    too. Without it equal eigenvalues could never all be kept, as figures 1 and 2 need at p = d.
    """
    return int(np.argmax(eigenvalues - np.append(eigenvalues[1:], 0.0))) + 1


def fixed_count(count: int) -> Selection:
    """Keep `count` directions, or all if there are fewer."""
    if count < 1:
        raise ValueError("at least one direction is kept")
    return lambda eigenvalues: min(count, len(eigenvalues))


def share_of_variance(share: float) -> Selection:
    """Keep the fewest directions that carry this share of the variance, 0 < share ≤ 1."""
    if not 0 < share <= 1:
        raise ValueError("a share lies in (0, 1]")

    def select(eigenvalues: FloatArray) -> int:
        carried = np.cumsum(np.maximum(eigenvalues, 0.0))
        # A share of 1 is reached at the last direction that carries anything, not by rounding.
        return int(np.searchsorted(carried, share * carried[-1] * (1 - 1e-12))) + 1

    return select


def pca_reconstruction(
    observation: Observation, knowledge: Knowledge, select: Selection = largest_gap
) -> FloatArray:
    """PCA-DR: x̂ = µ + (y-µ)·Q̂Q̂ᵀ with Q̂ from the covariance of the original, n × d.

    [huang2005, section 5.2.2]; `knowledge` says whether that covariance is known or estimated.
    Departs from it where there is no noise at all: nothing is dropped, as nothing can be gained.
    """
    if not observation.noise_covariance.any():
        return observation.values.copy()
    eigenvalues, directions = falling_eigenvectors(knowledge.covariance)
    return _kept(observation.values, knowledge.mean, directions[:, : select(eigenvalues)])


def spectral_filter(observation: Observation) -> FloatArray:
    """SF: keep the directions of Cov(Y) whose variance independent noise cannot explain, n × d.

    The eigenvalues of the sample covariance of pure noise of variance σ² lie below
    σ²(1 + √(d/n))² in the limit (Kargupta's random-matrix bound, as huang2005 uses it); directions
    above it are kept. The bound knows independent noise only: σ² is the mean over attributes.
    """
    values = observation.values
    eigenvalues, directions = falling_eigenvectors(np.atleast_2d(np.cov(values, rowvar=False)))
    kept = eigenvalues > noise_eigenvalue_bound(observation.noise_covariance, len(values))
    return _kept(values, values.mean(axis=0), directions[:, kept])


def noise_eigenvalue_bound(noise_covariance: FloatArray, n: int) -> float:
    """σ²(1 + √(d/n))²: the largest eigenvalue that n rows of independent noise should show."""
    d = len(noise_covariance)
    return float(np.trace(noise_covariance) / d * (1 + np.sqrt(d / n)) ** 2)


def falling_eigenvectors(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues in falling order and their eigenvectors as columns."""
    eigenvalues, directions = np.linalg.eigh(covariance)
    return eigenvalues[::-1], directions[:, ::-1]


def _kept(values: FloatArray, mean: FloatArray, directions: FloatArray) -> FloatArray:
    kept: FloatArray = mean + ((values - mean) @ directions) @ directions.T
    return kept
