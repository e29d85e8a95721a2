"""Mutual information and right guesses, for the one-step scheme and for added noise."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.deconvolution.kernel import bin_likelihood
from app.numerics.deconvolution.noise import Discrete, Laplace, Noise, Normal, Uniform
from app.numerics.disclosure import additive_privacy_loss, one_step_privacy_loss
from app.numerics.indicator.perturbations import DiscreteNormal, Geometric

PRIOR = np.array([0.4, 0.3, 0.2, 0.1])
EDGES = np.arange(5.0)
ENTROPY = -(PRIOR * np.log2(PRIOR)).sum()


def test_almost_no_noise_leaks_everything_and_much_noise_nothing() -> None:
    rng = np.random.default_rng(1)
    bare = one_step_privacy_loss(DiscreteNormal(0.01), PRIOR, rng, records=500)
    assert bare.mutual_information_bits.value == pytest.approx(ENTROPY)
    assert bare.right_by_map.value == bare.right_by_mle.value == 1
    hidden = one_step_privacy_loss(DiscreteNormal(200.0), PRIOR, rng, records=2000)
    assert hidden.mutual_information_bits.value == pytest.approx(0, abs=1e-3)
    assert hidden.share == pytest.approx(0, abs=1e-3)
    assert hidden.right_by_map.value == pytest.approx(0.4, abs=0.01)
    assert hidden.right_by_mle.value == pytest.approx(0.25, abs=0.01)

    assert additive_privacy_loss(Normal(1e-8), PRIOR, EDGES).mutual_information_bits.value == (
        pytest.approx(ENTROPY, abs=1e-2)
    )
    far = additive_privacy_loss(Normal(1e6), PRIOR, EDGES)
    assert far.mutual_information_bits.value == pytest.approx(0, abs=1e-4)
    assert far.right_by_map.value == pytest.approx(0.4, abs=1e-3)


def test_mutual_information_is_the_sum_over_all_vectors() -> None:
    perturbation, prior = Geometric(3.0), np.array([0.7, 0.3])
    steps = np.arange(30)
    first, second = (entries.ravel() for entries in np.meshgrid(steps, steps))
    given = np.array(
        [
            np.exp(perturbation.log_mass(first - 1) + perturbation.log_mass(second)),
            np.exp(perturbation.log_mass(first) + perturbation.log_mass(second - 1)),
        ]
    )
    joint = prior[:, None] * given
    independent = prior[:, None] * joint.sum(axis=0)
    used = joint > 0
    exact = (joint[used] * np.log2(joint[used] / independent[used])).sum()
    measured = one_step_privacy_loss(
        perturbation, prior, np.random.default_rng(2)
    ).mutual_information_bits
    assert measured.value == pytest.approx(exact, abs=4 * measured.standard_error)
    assert measured.standard_error < 0.01


@pytest.mark.parametrize(
    "noise", [Normal(0.8), Uniform(-1.0, 2.0), Laplace(0.7), Discrete([-1.0, 1.0], [0.4, 0.6])]
)
def test_added_noise_leaks_what_a_simulation_shows(noise: Noise) -> None:
    rng = np.random.default_rng(3)
    index = rng.choice(4, 40_000, p=PRIOR)
    z = index + rng.random(index.size) + noise.draws(rng, index.size)
    joint = bin_likelihood(z, noise, EDGES) * PRIOR
    after = joint / joint.sum(axis=1, keepdims=True)
    information = np.log2(after[np.arange(index.size), index] / PRIOR[index])
    loss = additive_privacy_loss(noise, PRIOR, EDGES)
    assert loss.mutual_information_bits.value == pytest.approx(information.mean(), abs=0.03)
    assert loss.right_by_map.value == pytest.approx(after.max(axis=1).mean(), abs=0.01)
    assert loss.right_by_mle.value <= loss.right_by_map.value + 1e-9
