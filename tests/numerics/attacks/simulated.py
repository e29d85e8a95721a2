"""Tables with a covariance that the tests choose, and their disguised versions."""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import Observation


def covariance_with(eigenvalues: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A covariance with these eigenvalues along random directions."""
    directions, _ = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))
    covariance: FloatArray = (directions * eigenvalues) @ directions.T
    return covariance


def normal_rows(covariance: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """n rows of zero mean with this covariance, which may be singular."""
    eigenvalues, directions = np.linalg.eigh(covariance)
    rows: FloatArray = (
        rng.normal(size=(n, len(covariance))) * np.sqrt(np.maximum(eigenvalues, 0.0))
    ) @ directions.T
    return rows


def disguised(
    original: FloatArray, noise_covariance: FloatArray, rng: np.random.Generator
) -> Observation:
    """The original under noise of this covariance."""
    noise = normal_rows(noise_covariance, len(original), rng)
    return Observation(original + noise, noise_covariance)


def mean_squared(error: FloatArray) -> float:
    """The mean over all cells of the squared error."""
    return float(np.mean(error**2))
