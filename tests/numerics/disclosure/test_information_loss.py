"""Information loss by both definitions, and the one-step scheme's as a formula."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.disclosure.information_loss import (
    expected_one_step_loss,
    loss_from_distribution,
    loss_from_histograms,
    variation_distance,
)
from app.numerics.indicator import (
    DiscreteNormal,
    InverseCube,
    Perturbation,
    estimated_shares,
    perturbed_vectors,
    totals_of,
)


def test_the_distance_is_zero_of_the_same_and_one_of_the_apart() -> None:
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.0, 1.0])
    assert variation_distance(p, p) == 0
    assert variation_distance(p, q) == 1


def test_without_noise_only_the_papers_definition_is_zero() -> None:
    rng = np.random.default_rng(1)
    p = np.array([0.2, 0.3, 0.5])
    histograms = rng.multinomial(50, p, size=100) / 50
    assert loss_from_histograms(histograms, histograms) == 0
    assert loss_from_distribution(p, histograms) > 0.02
    with pytest.raises(ValueError, match="own records"):
        loss_from_histograms(histograms[:1], histograms)


@pytest.mark.parametrize("perturbation", [DiscreteNormal(1.5, gamma=0.5), InverseCube()])
def test_the_one_step_loss_is_the_simulated_one(perturbation: Perturbation) -> None:
    rng = np.random.default_rng(2)
    shares, n = np.array([0.5, 0.3, 0.15, 0.05, 0.0, 0.0]), 400
    index = np.repeat(np.arange(6), (shares * n).astype(int))
    losses = []
    for _ in range(300):
        vectors = perturbed_vectors(index, 6, perturbation, rng)
        estimate = estimated_shares(totals_of(vectors, perturbation), perturbation)
        losses.append(variation_distance(shares, estimate.shares))
    assert expected_one_step_loss(perturbation, shares, n) == pytest.approx(
        np.mean(losses), rel=0.06
    )


def test_the_one_step_loss_falls_as_the_root_of_n() -> None:
    shares = np.full(10, 0.1)
    ratio = expected_one_step_loss(DiscreteNormal(1.0), shares, 10**6) / expected_one_step_loss(
        DiscreteNormal(1.0), shares, 10**8
    )
    assert ratio == pytest.approx(10, rel=1e-6)
