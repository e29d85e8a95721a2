"""Information loss: half the expected L1 distance between a distribution and its estimate.

[wu2003, section 5], compared with the histogram of the very x: what the noise alone cost.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from app.numerics.arrays import FloatArray
from app.numerics.indicator import Perturbation, standard_errors_at


def expected_one_step_loss(perturbation: Perturbation, shares: FloatArray, n: int) -> float:
    """The paper's loss of the one-step estimate from n responses, by the normal approximation.

    With s_j the standard error for the respondents' share θ_j and a = θ_j/s_j, a column cut at zero is
    off by E|max(0, θ + s·N) - θ| = s·(2φ(0) - φ(a)) + θ·Φ(-a). It falls as n^(-1/2) where θ_j ≫ s_j.
    """
    errors = standard_errors_at(shares, perturbation, n)
    ratio = np.divide(shares, errors, out=np.full(shares.size, np.inf), where=errors > 0)
    density = np.exp(-(ratio**2) / 2)
    peak = 1 / np.sqrt(2 * np.pi)
    off = errors * peak * (2 - density) + shares * special.ndtr(-ratio)
    return float(off.sum()) / 2
