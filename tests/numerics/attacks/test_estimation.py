"""The linear least squares estimate against its other forms, and against what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.numerics.attacks.estimation import linear_estimate, noise_share, regression
from tests.numerics.attacks.simulated import covariance_with, disguised, mean_squared, normal_rows


def test_it_is_equation_11_of_huang2005_for_independent_noise() -> None:
    rng = np.random.default_rng(1)
    K = covariance_with(np.array([9.0, 4.0, 0.5]), rng)
    mean, y, variance = rng.normal(size=3), rng.normal(size=(7, 3)), 2.5
    inverse = np.linalg.inv(K)
    expected = np.linalg.solve(
        inverse + np.eye(3) / variance, (inverse @ mean)[:, None] + y.T / variance
    ).T
    found = linear_estimate(y, mean, K, variance * np.eye(3))
    np.testing.assert_allclose(found.values, expected, rtol=1e-10)


def test_it_is_equation_13_of_huang2005_and_equation_4_of_li2012_for_shaped_noise() -> None:
    rng = np.random.default_rng(2)
    K = covariance_with(np.array([9.0, 4.0, 0.5]), rng)
    noise = covariance_with(np.array([1.0, 3.0, 0.2]), rng)
    mean, y = rng.normal(size=3), rng.normal(size=(7, 3))
    found = linear_estimate(y, mean, K, noise)
    precision, noise_precision = np.linalg.inv(K), np.linalg.inv(noise)
    bayes = np.linalg.solve(
        precision + noise_precision, (precision @ mean)[:, None] + noise_precision @ y.T
    ).T
    linear = mean + (y - mean) @ (K @ np.linalg.inv(K + noise)).T
    np.testing.assert_allclose(found.values, bayes, rtol=1e-9)
    np.testing.assert_allclose(found.values, linear, rtol=1e-9)
    np.testing.assert_allclose(
        found.error_covariance, np.linalg.inv(precision + noise_precision), rtol=1e-9
    )


def test_of_a_constant_original_it_returns_the_mean() -> None:
    y = np.random.default_rng(4).normal(size=(20, 2))
    found = linear_estimate(y, np.array([3.0, -1.0]), np.zeros((2, 2)), np.eye(2))
    np.testing.assert_allclose(found.values, np.broadcast_to([3.0, -1.0], (20, 2)), rtol=1e-12)


def test_collinear_columns_with_noise_of_their_shape_are_estimated_like_one() -> None:
    rng = np.random.default_rng(5)
    loading = np.array([1.0, 2.0, -1.0])
    K = np.outer(loading, loading)
    x = rng.normal(size=(50, 1)) * loading
    y = x + np.sqrt(3.0) * rng.normal(size=(50, 1)) * loading
    found = linear_estimate(y, np.zeros(3), K, 3.0 * K)
    np.testing.assert_allclose(found.values, y / 4, rtol=1e-10)


@given(exponents=st.lists(st.integers(-8, 8), min_size=3, max_size=3))
def test_units_do_not_matter(exponents: list[int]) -> None:
    rng = np.random.default_rng(6)
    K = covariance_with(np.array([9.0, 4.0, 0.5]), rng)
    noise, y = 2.0 * np.eye(3), rng.normal(size=(5, 3))
    unit = 10.0 ** np.array(exponents)
    plain = linear_estimate(y, np.zeros(3), K, noise)
    other = linear_estimate(
        y * unit, np.zeros(3), K * np.outer(unit, unit), noise * np.outer(unit, unit)
    )
    np.testing.assert_allclose(other.values / unit, plain.values, rtol=1e-7)


def test_the_error_it_states_is_the_error_it_makes() -> None:
    rng = np.random.default_rng(7)
    K = covariance_with(np.array([20.0, 5.0, 1.0, 0.2]), rng)
    noise = covariance_with(np.array([1.0, 2.0, 3.0, 4.0]), rng)
    x = normal_rows(K, 40_000, rng)
    found = linear_estimate(disguised(x, noise, rng).values, np.zeros(4), K, noise)
    measured = mean_squared(found.values - x)
    stated = float(np.trace(found.error_covariance)) / 4
    assert measured == pytest.approx(stated, rel=0.03)
    assert measured != pytest.approx(1.1 * stated, rel=0.03)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_no_other_gain_does_better(factor: float) -> None:
    rng = np.random.default_rng(8)
    K, noise = np.diag([4.0, 1.0]), np.eye(2)
    x = normal_rows(K, 50_000, rng)
    y = disguised(x, noise, rng).values
    best = linear_estimate(y, np.zeros(2), K, noise).values
    assert mean_squared(best - x) < mean_squared(factor * best - x)


def test_an_estimate_can_be_the_mean_of_the_next() -> None:
    """Two independent copies taken one after the other say what they say together."""
    rng = np.random.default_rng(9)
    K = covariance_with(np.array([5.0, 2.0]), rng)
    noises = [covariance_with(np.array([1.0, 3.0]), rng) for _ in range(2)]
    ys = rng.normal(size=(2, 6, 2))
    first = linear_estimate(ys[0], np.zeros(2), K, noises[0])
    both = linear_estimate(ys[1], first.values, first.error_covariance, noises[1])
    precisions = [np.linalg.inv(noise) for noise in noises]
    precision = np.linalg.inv(K) + sum(precisions)
    information = sum(p @ y.T for p, y in zip(precisions, ys, strict=True))
    np.testing.assert_allclose(both.values, np.linalg.solve(precision, information).T, rtol=1e-9)
    np.testing.assert_allclose(both.error_covariance, np.linalg.inv(precision), rtol=1e-9)


def test_noise_and_data_share_what_was_seen() -> None:
    rng = np.random.default_rng(10)
    K, noise = (covariance_with(np.array([3.0, 1.0, 0.5]), rng) for _ in range(2))
    np.testing.assert_allclose(noise_share(K, noise) + noise_share(noise, K), np.eye(3), atol=1e-12)


def test_regression_on_a_variable_that_does_not_vary_is_zero() -> None:
    np.testing.assert_array_equal(regression(np.zeros((2, 1)), np.zeros((1, 1))), 0.0)


@pytest.mark.parametrize(
    ("mean", "covariance"), [(np.zeros(3), np.eye(2)), (np.zeros(2), np.eye(3))]
)
def test_shapes_that_do_not_fit_are_refused(mean: np.ndarray, covariance: np.ndarray) -> None:
    with pytest.raises(ValueError, match="must be"):
        linear_estimate(np.zeros((4, 2)), mean, covariance, np.eye(2))
