"""Expected errors of attacks in closed form, and dissimilarity of noise and data [huang2005, li2012].

| here | li2012 | huang2005 | meaning |
| --- | --- | --- | --- |
| v, noise_variances | σ²_{Z_i} | | noise variances of copies, in units of K |
| K | K_X | Σ_x | covariance of the original, d × d |
| Σ | | Σ_r | covariance of the noise, d × d |
| p, d | | p, m | kept directions, attributes |
| C_X, C_R | | C_X, C_R | correlation matrices of the data and of the noise, d × d |

Errors are mean squared errors. Those of li2012 are covariances of the error, d × d, whose diagonal
holds the attributes' errors; those of huang2005 are means over the attributes.
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import noise_share
from app.numerics.attacks.spectral import Selection, falling_eigenvectors


def single_copy_error(noise_variance: float, covariance: FloatArray) -> FloatArray:
    """v/(v+1)·K: error of the LLSE from one copy with noise v·K [li2012, eq. 8]."""
    return noise_variance / (noise_variance + 1) * covariance


def ndr_error(noise_covariance: FloatArray) -> float:
    """Tr(Σ)/d: guessing y leaves the noise [huang2005, section 4.1]."""
    return float(np.trace(noise_covariance)) / len(noise_covariance)


def pca_error(covariance: FloatArray, noise_covariance: FloatArray, select: Selection) -> float:
    """Tr(Q̂ᵀΣQ̂)/d + Σ_{j>p} λ_j/d: noise left and data dropped by PCA-DR with K known.

    The two sources of eq. 7 of huang2005. For Σ = σ²I the first is theorem 5.2.
    """
    eigenvalues, directions = falling_eigenvectors(covariance)
    p = select(eigenvalues)
    kept = directions[:, :p]
    left = np.trace(kept.T @ noise_covariance @ kept)
    return float(left + np.sum(eigenvalues[p:])) / len(covariance)


def linear_estimate_error(covariance: FloatArray, noise_covariance: FloatArray) -> float:
    """Tr[(K⁻¹+Σ⁻¹)⁻¹]/d: BE-DR with known moments [huang2005, eq. 13; li2012, eq. 7]."""
    error = noise_share(covariance, noise_covariance) @ covariance
    return float(np.trace(error)) / len(covariance)


def correlation_dissimilarity(covariance: FloatArray, noise_covariance: FloatArray) -> float:
    """The root mean square of C_X - C_R off the diagonal, from two covariances (d × d) [huang2005, definition 8.1].

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
