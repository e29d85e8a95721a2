"""Privacy loss of added noise: what one z = x + y tells about the bin of x.

[wu2003, section 4.2] defines both measures for any perturbation; with X uniform within its bins,

    I = Σ_i p_i ∫ a_i(z)·log₂(a_i(z)/f(z)) dz,   Pr(MAP right) = ∫ max_i p_i·a_i(z) dz

| symbol | here |
| --- | --- |
| a_i(z) | density of z when x is in R_i, `bin_likelihood` |
| f = Σ_i p_i·a_i | density of Z |

Departs from [wu2003, section 4.2]: the information is that on the bin of X, not on X itself, so that it is
finite for every noise and comparable with the one-step scheme's.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from app.numerics.arrays import FloatArray
from app.numerics.deconvolution import Noise, bin_likelihood
from app.numerics.disclosure.one_step import Measured, PrivacyLoss

DEVIATIONS = 12.0
"""Reach of the integral in standard deviations: beyond it every noise here has less than 10⁻⁶."""

BLOCK_ENTRIES = 1 << 20


def additive_privacy_loss(
    noise: Noise, probabilities: FloatArray, edges: FloatArray, *, points: int = 16_384
) -> PrivacyLoss:
    """The privacy loss of one record, by the midpoint rule on `points` values of z.

    `probabilities` (K,) are those of the bins `edges` (K+1,). The midpoint rule is off by about one
    part in `points` where densities jump.
    """
    reach = DEVIATIONS * np.sqrt(noise.variance)
    low, high = edges[0] + noise.mean - reach, edges[-1] + noise.mean + reach
    spacing = (high - low) / points
    information = right_by_map = right_by_mle = 0.0
    rows = max(1, BLOCK_ENTRIES // probabilities.size)
    for first in range(0, points, rows):
        index = np.arange(first, min(first + rows, points))
        likelihood = bin_likelihood(low + (index + 0.5) * spacing, noise, edges)
        joint = likelihood * probabilities
        density = joint.sum(axis=1)
        information += float(
            spacing * (special.rel_entr(joint, density[:, None] * probabilities)).sum() / np.log(2)
        )
        right_by_map += float(spacing * joint.max(axis=1).sum())
        best = likelihood == likelihood.max(axis=1, keepdims=True)
        right_by_mle += float(spacing * ((joint * best).sum(axis=1) / best.sum(axis=1)).sum())
    return PrivacyLoss(
        mutual_information_bits=Measured(information),
        right_by_mle=Measured(right_by_mle),
        right_by_map=Measured(right_by_map),
        by_chance=float(probabilities.max()),
    )
