"""Known cells are kept, and help exactly as much as conditioning says."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import LinearEstimate, disclosed_estimate, linear_estimate
from tests.numerics.attacks.simulated import covariance_with, disguised, mean_squared, normal_rows


@pytest.fixture
def attacked() -> tuple[FloatArray, LinearEstimate, FloatArray, FloatArray]:
    rng = np.random.default_rng(5)
    K = covariance_with(np.array([10.0, 0.5, 0.1]), rng)
    x = normal_rows(K, 20_000, rng)
    seen = disguised(x, 2 * np.eye(3), rng)
    return x, linear_estimate(seen.values, np.zeros(3), K, 2 * np.eye(3)), K, seen.values


def test_a_known_attribute_is_an_observation_without_noise(
    attacked: tuple[FloatArray, LinearEstimate, FloatArray, FloatArray],
) -> None:
    """The same as the conditional mean of x_1, x_2 given y and x_0, written with one solve."""
    x, estimate, K, y = attacked
    known = np.full_like(x, np.nan)
    known[:, 0] = x[:, 0]
    seen_and_known = np.block([[K + 2 * np.eye(3), K[:, :1]], [K[:1], K[:1, :1]]])
    gain = np.column_stack([K, K[:, 0]]) @ np.linalg.inv(seen_and_known)
    expected = np.column_stack([y, x[:, 0]]) @ gain.T
    np.testing.assert_allclose(disclosed_estimate(estimate, known), expected, atol=1e-8)


def test_what_is_known_helps_with_what_is_not(
    attacked: tuple[FloatArray, LinearEstimate, FloatArray, FloatArray],
) -> None:
    x, estimate, *_ = attacked
    known = np.full_like(x, np.nan)
    known[:, 0] = x[:, 0]
    error = disclosed_estimate(estimate, known)[:, 1:] - x[:, 1:]
    assert mean_squared(error) < 0.8 * mean_squared(estimate.values[:, 1:] - x[:, 1:])


def test_rows_may_know_different_attributes(
    attacked: tuple[FloatArray, LinearEstimate, FloatArray, FloatArray],
) -> None:
    x, estimate, *_ = attacked
    hidden = np.random.default_rng(2).random(x.shape) < 0.5
    known = np.where(hidden, np.nan, x)
    together = disclosed_estimate(estimate, known)
    np.testing.assert_array_equal(together[~hidden], x[~hidden])
    for row in range(5):
        alone = disclosed_estimate(
            LinearEstimate(estimate.values[[row]], estimate.error_covariance), known[[row]]
        )
        np.testing.assert_allclose(together[[row]], alone, atol=1e-10)


def test_knowing_nothing_changes_nothing(
    attacked: tuple[FloatArray, LinearEstimate, FloatArray, FloatArray],
) -> None:
    x, estimate, *_ = attacked
    found = disclosed_estimate(estimate, np.full_like(x, np.nan))
    np.testing.assert_array_equal(found, estimate.values)


def test_a_collinear_attribute_is_given_away_entirely() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 1)) * np.array([1.0, -3.0])
    K = np.outer([1.0, -3.0], [1.0, -3.0])
    estimate = linear_estimate(disguised(x, np.eye(2), rng).values, np.zeros(2), K, np.eye(2))
    known = np.column_stack([x[:, 0], np.full(50, np.nan)])
    np.testing.assert_allclose(disclosed_estimate(estimate, known), x, atol=1e-9)


def test_known_cells_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        disclosed_estimate(LinearEstimate(np.zeros((2, 2)), np.eye(2)), np.zeros((2, 3)))
