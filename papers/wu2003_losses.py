"""Information loss by both definitions of [wu2003, section 5], and its curves beside the privacy loss.

| definition | compares the estimate with |
| --- | --- |
| earlier work cited by the paper | the distribution of X: not zero without noise |
| the paper | the histogram of the x themselves: the cost of the noise alone |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.disclosure import PrivacyLoss, expected_one_step_loss, one_step_privacy_loss
from app.numerics.indicator.perturbations import Perturbation


@dataclass(frozen=True)
class CurvePoint:
    """Leakage of a record, and loss of the estimate from n records, in one setting."""

    perturbation: Perturbation
    bins: int
    privacy: PrivacyLoss
    information_loss: float


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


def one_step_curve(
    settings: Iterable[tuple[Perturbation, FloatArray]],
    rng: np.random.Generator,
    *,
    n: int,
    records: int = 20_000,
) -> list[CurvePoint]:
    """Privacy and information loss for each (W, prior): curves over γ, σ or the number of bins."""
    return [
        CurvePoint(
            perturbation=perturbation,
            bins=prior.size,
            privacy=one_step_privacy_loss(perturbation, prior, rng, records=records),
            information_loss=expected_one_step_loss(perturbation, prior, n),
        )
        for perturbation, prior in settings
    ]
