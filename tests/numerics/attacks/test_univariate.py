"""NDR and UDR against integrals written again, and at their limits."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.attacks.estimation import Observation
from app.numerics.attacks.univariate import (
    estimated_densities,
    histogram_density,
    noise_distribution_reconstruction,
    posterior_mean,
    univariate_distribution_reconstruction,
)
from tests.numerics.attacks.simulated import mean_squared


def test_ndr_guesses_what_it_sees_and_misses_by_the_noise() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(20_000, 2))
    y = x + 3 * rng.normal(size=x.shape)
    guess = noise_distribution_reconstruction(Observation(y, 9 * np.eye(2)))
    np.testing.assert_array_equal(guess, y)
    assert mean_squared(guess - x) == pytest.approx(9, rel=0.03)


def test_the_posterior_mean_of_normal_data_is_linear() -> None:
    """f_X = N(2, 9) on a fine grid and noise of variance 4: E(x|y) = 2 + 9/13·(y-2)."""
    centres = np.linspace(-28, 32, 2001)
    probabilities = np.exp(-((centres - 2) ** 2) / 18)
    y = np.linspace(-8, 12, 7)
    found = posterior_mean(y, (centres, probabilities / probabilities.sum()), 4.0)
    np.testing.assert_allclose(found, 2 + 9 / 13 * (y - 2), rtol=1e-9)


def test_two_values_are_told_apart_by_the_logistic_function() -> None:
    """For x = ±1 with equal chance E(x|y) = tanh(y/σ²)."""
    y = np.linspace(-3, 3, 11)
    found = posterior_mean(y, (np.array([-1.0, 1.0]), np.array([0.5, 0.5])), 0.8)
    np.testing.assert_allclose(found, np.tanh(y / 0.8), rtol=1e-10)


def test_a_value_far_from_all_bins_gets_the_nearest() -> None:
    density = (np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(posterior_mean(np.array([-1e9, 1e9]), density, 1e-3), [0, 1])


def test_bins_of_probability_zero_are_never_guessed() -> None:
    density = (np.array([0.0, 5.0]), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(posterior_mean(np.array([5.0, 50.0]), density, 1.0), 0.0)


def test_many_rows_are_worked_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.random.default_rng(3).normal(size=100)
    density = histogram_density(y, 10)
    whole = posterior_mean(y, density, 0.5)
    monkeypatch.setattr("app.numerics.attacks.univariate.CELLS_AT_ONCE", 30)
    np.testing.assert_allclose(posterior_mean(y, density, 0.5), whole, rtol=1e-14)


def test_udr_beats_ndr_when_the_distribution_is_known() -> None:
    rng = np.random.default_rng(4)
    x = rng.choice([-5.0, 5.0], size=(5000, 1))
    seen = Observation(x + 3 * rng.normal(size=x.shape), 9 * np.eye(1))
    found = univariate_distribution_reconstruction(seen, [histogram_density(x[:, 0], 51)])
    assert mean_squared(found - x) < 0.5 * mean_squared(seen.values - x)


def test_a_density_for_every_attribute_is_needed() -> None:
    with pytest.raises(ValueError, match="one density per attribute"):
        univariate_distribution_reconstruction(Observation(np.zeros((2, 2)), np.eye(2)), [])


def test_a_density_without_mass_is_refused() -> None:
    with pytest.raises(ValueError, match="some positive"):
        posterior_mean(np.zeros(2), (np.zeros(1), np.zeros(1)), 1.0)


def test_an_estimated_density_serves_as_well_as_the_true_one() -> None:
    rng = np.random.default_rng(5)
    x = np.column_stack([rng.choice([-5.0, 5.0], 20_000), rng.gamma(2, 3, 20_000)])
    seen = Observation(x + 3 * rng.normal(size=x.shape), 9 * np.eye(2))
    given = [histogram_density(x[:, j], 51) for j in range(2)]
    errors = [
        mean_squared(univariate_distribution_reconstruction(seen, densities) - x)
        for densities in (given, estimated_densities(seen, 60))
    ]
    assert errors[1] == pytest.approx(errors[0], rel=0.05)


def test_values_that_differ_by_rounding_are_one_value() -> None:
    values = np.nextafter(7.0, np.array([6.0, 7.0, 8.0, 8.0]))
    centres, probabilities = histogram_density(values, 50)
    np.testing.assert_allclose(centres, [7.0])
    np.testing.assert_array_equal(probabilities, [1.0])


def test_a_constant_attribute_is_its_own_estimate() -> None:
    seen = Observation(np.full((10, 2), 4.0), np.diag([0.0, 1.0]))
    found = univariate_distribution_reconstruction(seen, estimated_densities(seen, 3))
    np.testing.assert_allclose(found, 4.0)
