"""Information loss: half the expected L1 distance between a distribution and its estimate.

[wu2003, section 5]

| definition | compares the estimate with |
| --- | --- |
| of the earlier work that the paper cites | the distribution of X: not zero without noise |
| of the paper | the histogram of the very x: what the noise alone cost |
"""

from __future__ import annotations

import numpy as np
from scipy import special

from app.numerics.arrays import FloatArray
from app.numerics.indicator import Perturbation, standard_errors_at


def variation_distance(first: FloatArray, second: FloatArray) -> FloatArray:
    """½·Σ_j |p_j - q_j| along the last axis: between 0 and 1 for two distributions."""
    distance: FloatArray = np.abs(first - second).sum(axis=-1) / 2
    return distance


def loss_from_distribution(distribution: FloatArray, estimates: FloatArray) -> float:
    """½·E‖p_X - p̂‖₁ over the estimates (r, K), with p_X (K,) the true masses of the bins."""
    return float(variation_distance(distribution, estimates).mean())


def loss_from_histograms(histograms: FloatArray, estimates: FloatArray) -> float:
    """½·E‖h - p̂‖₁ over pairs (r, K) of the histogram of the x that were perturbed and its estimate."""
    if histograms.shape != estimates.shape:
        raise ValueError("every estimate needs the histogram of its own records")
    return float(variation_distance(histograms, estimates).mean())


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
