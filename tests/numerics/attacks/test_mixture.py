"""The non-linear adversary: BE-DR with one component, better where the data clump."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.attacks.estimation import Observation, linear_estimate
from app.numerics.attacks.evidence import partial_knowledge
from app.numerics.attacks.mixture import (
    Mixture,
    fitted_mixture,
    mixture_reconstruction,
    posterior_mean_of_mixture,
)
from tests.numerics.attacks.simulated import covariance_with, disguised, mean_squared, normal_rows


def test_with_one_component_it_is_the_linear_estimate() -> None:
    rng = np.random.default_rng(1)
    x = 50 + normal_rows(covariance_with(np.array([9.0, 3.0, 2.0]), rng), 2000, rng)
    seen = disguised(x, np.eye(3), rng)
    knowledge = partial_knowledge(seen)
    linear = linear_estimate(seen.values, knowledge.mean, knowledge.covariance, np.eye(3))
    found = mixture_reconstruction(seen, knowledge, 1, rng)
    np.testing.assert_allclose(found, linear.values, atol=0.01)


def test_clumps_are_found_where_a_linear_attack_cannot() -> None:
    rng = np.random.default_rng(2)
    centres = np.array([[-4.0, 0.0], [4.0, 1.0], [0.0, -6.0]])
    x = centres[rng.integers(3, size=3000)] + 0.3 * rng.normal(size=(3000, 2))
    seen = disguised(x, 4 * np.eye(2), rng)
    knowledge = partial_knowledge(seen)
    linear = linear_estimate(seen.values, knowledge.mean, knowledge.covariance, 4 * np.eye(2))
    found = mixture_reconstruction(seen, knowledge, 3, rng)
    assert mean_squared(found - x) < 0.6 * mean_squared(linear.values - x)


def test_the_posterior_of_two_points_is_the_logistic_function() -> None:
    points = Mixture(np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.zeros((2, 1, 1)))
    y = np.linspace(-2, 2, 9)[:, None]
    found = posterior_mean_of_mixture(y, 0.8 * np.eye(1), points)
    np.testing.assert_allclose(found, np.tanh(y / 0.8), rtol=1e-10)


def test_the_fit_finds_the_mixture_behind_the_noise() -> None:
    rng = np.random.default_rng(3)
    x = np.where(rng.random((20_000, 1)) < 0.3, -5.0, 5.0) + rng.normal(size=(20_000, 1))
    seen = disguised(x, 4 * np.eye(1), rng)
    start = Mixture(np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.ones((2, 1, 1)))
    found = fitted_mixture(seen.values, seen.noise_covariance, start)
    np.testing.assert_allclose(found.weights, [0.3, 0.7], atol=0.02)
    np.testing.assert_allclose(found.means[:, 0], [-5, 5], atol=0.15)
    np.testing.assert_allclose(found.covariances[:, 0, 0], 1, atol=0.25)


def test_the_same_generator_gives_the_same_answer() -> None:
    rng = np.random.default_rng(5)
    seen = disguised(rng.normal(size=(300, 2)), np.eye(2), rng)
    knowledge = partial_knowledge(seen)
    first, second = (
        mixture_reconstruction(seen, knowledge, 3, np.random.default_rng(9), most_rows=200)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_more_components_than_distinct_rows_are_no_harm() -> None:
    rng = np.random.default_rng(6)
    x = np.repeat([[0.0], [9.0]], 20, axis=0)
    seen = disguised(x, 0.01 * np.eye(1), rng)
    found = mixture_reconstruction(seen, partial_knowledge(seen), 6, rng)
    assert np.isfinite(found).all()


def test_no_component_is_refused() -> None:
    seen = Observation(np.zeros((3, 1)), np.eye(1))
    with pytest.raises(ValueError, match="at least one"):
        mixture_reconstruction(seen, partial_knowledge(seen), 0, np.random.default_rng(7))
