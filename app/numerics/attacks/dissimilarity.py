"""How differently the noise is shaped from the data [huang2005, definition 8.1].

| here | huang2005 | meaning |
| --- | --- | --- |
| C_X, C_R | C_X, C_R | correlation matrices of the data and of the noise, d × d |
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray


def correlation_dissimilarity(covariance: FloatArray, noise_covariance: FloatArray) -> float:
    """The root mean square of C_X - C_R off the diagonal, from two covariances (d × d).

    The root is taken: the text of definition 8.1 as printed could be read without it, but only
    with it do independent noises come to lie at 0.1, where figure 4 draws its line. 0 for one
    attribute; an attribute that does not vary counts as uncorrelated.
    """
    d = len(covariance)
    if d == 1:
        return 0.0
    difference = correlations(covariance) - correlations(noise_covariance)
    off_diagonal = difference[~np.eye(d, dtype=bool)]
    return float(np.sqrt(np.mean(off_diagonal**2)))


def correlations(covariance: FloatArray) -> FloatArray:
    """The correlation matrix of a covariance; 0 beside the diagonal where a variance is 0."""
    deviation = np.sqrt(np.diag(covariance))
    scale = np.where(deviation > 0, deviation, 1.0)
    scaled: FloatArray = covariance / np.outer(scale, scale)
    np.fill_diagonal(scaled, 1.0)
    return scaled
