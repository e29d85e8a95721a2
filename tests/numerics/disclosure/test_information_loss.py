"""The information loss of the one-step scheme as a formula."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.disclosure import expected_one_step_loss
from app.numerics.indicator.perturbations import DiscreteNormal, InverseCube, Perturbation
from app.numerics.indicator.scheme import estimated_shares, perturbed_vectors, totals_of


@pytest.mark.parametrize("perturbation", [DiscreteNormal(1.5, gamma=0.5), InverseCube()])
def test_the_one_step_loss_is_the_simulated_one(perturbation: Perturbation) -> None:
    rng = np.random.default_rng(2)
    shares, n = np.array([0.5, 0.3, 0.15, 0.05, 0.0, 0.0]), 400
    index = np.repeat(np.arange(6), (shares * n).astype(int))
    losses = []
    for _ in range(300):
        vectors = perturbed_vectors(index, 6, perturbation, rng)
        estimate = estimated_shares(totals_of(vectors, perturbation), perturbation)
        losses.append(np.abs(shares - estimate.shares).sum() / 2)
    assert expected_one_step_loss(perturbation, shares, n) == pytest.approx(
        np.mean(losses), rel=0.06
    )


def test_the_one_step_loss_falls_as_the_root_of_n() -> None:
    shares = np.full(10, 0.1)
    ratio = expected_one_step_loss(DiscreteNormal(1.0), shares, 10**6) / expected_one_step_loss(
        DiscreteNormal(1.0), shares, 10**8
    )
    assert ratio == pytest.approx(10, rel=1e-6)
