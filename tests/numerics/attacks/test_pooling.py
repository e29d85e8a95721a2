"""Pooled copies against the stacked formula of li2012, its examples and its theorems."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.arrays import FloatArray
from app.numerics.attacks.closed_forms import single_copy_error
from app.numerics.attacks.estimation import LinearEstimate, linear_estimate
from app.numerics.attacks.evidence import (
    CopyGroup,
    cornerwave_between,
    independent_between,
    pooled_copy,
    pooled_observation,
    pooling_weights,
)
from papers.li2012_theory import cornerwave_copies_error, independent_copies_error
from tests.numerics.attacks.simulated import covariance_with

VARIANCES = np.array([0.5, 2.0, 1.0, 0.25])


def stacked_estimate(
    copies: FloatArray, mean: FloatArray, K: FloatArray, stacked_noise: FloatArray
) -> LinearEstimate:
    """Eqs. 6 and 7 of li2012 as they are printed, with an (md)³ solve. `copies` is m × n × d."""
    m, n, d = copies.shape
    H = np.kron(np.ones((m, 1)), np.eye(d))
    seen = H @ K @ H.T + stacked_noise
    stacked = copies.transpose(1, 0, 2).reshape(n, m * d) - np.tile(mean, m)
    gain = K @ H.T @ np.linalg.inv(seen)
    return LinearEstimate(mean + stacked @ gain.T, K - gain @ H @ K)


@pytest.mark.parametrize("between", [independent_between, cornerwave_between])
def test_pooling_and_one_estimate_are_the_stacked_formula(between) -> None:  # type: ignore[no-untyped-def]  # two functions of different types
    rng = np.random.default_rng(1)
    K = covariance_with(np.array([4.0, 2.0, 0.3]), rng)
    shape = covariance_with(np.array([1.0, 1.5, 2.0]), rng)
    copies, mean, A = rng.normal(size=(4, 9, 3)), rng.normal(size=3), between(VARIANCES)
    expected = stacked_estimate(copies, mean, K, np.kron(A, shape))
    seen = pooled_observation(list(copies), [CopyGroup((0, 1, 2, 3), A, shape)])
    found = linear_estimate(seen.values, mean, K, seen.noise_covariance)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.error_covariance, expected.error_covariance, rtol=1e-9)


def test_groups_of_different_shape_are_the_stacked_formula_too() -> None:
    rng = np.random.default_rng(2)
    K = covariance_with(np.array([4.0, 2.0]), rng)
    shape = covariance_with(np.array([1.0, 0.1]), rng)
    A = cornerwave_between(np.array([0.5, 2.0]))
    copies, mean = rng.normal(size=(4, 9, 2)), rng.normal(size=2)
    order = [1, 3, 0, 2]
    stacked = np.zeros((8, 8))
    stacked[:4, :4], stacked[4:6, 4:6], stacked[6:, 6:] = np.kron(A, K), 3 * np.eye(2), shape
    expected = stacked_estimate(copies[order], mean, K, stacked)
    groups = [
        CopyGroup((1, 3), A, None),
        CopyGroup((0,), np.array([[3.0]]), np.eye(2)),
        CopyGroup((2,), np.array([[1.0]]), shape),
    ]
    seen = pooled_observation(list(copies), groups, covariance=K)
    found = linear_estimate(seen.values, mean, K, seen.noise_covariance)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9)
    np.testing.assert_allclose(found.error_covariance, expected.error_covariance, rtol=1e-9)


@pytest.mark.parametrize(
    ("between", "error"),
    [
        ([[1.0]], 0.5),
        ([[4.0]], 0.8),
        ([[1.0, 0.0], [0.0, 4.0]], 4 / 9),
        ([[1.0, 1.0], [1.0, 4.0]], 0.5),
        ([[1.0, 2.0], [2.0, 4.0]], 0.0),
    ],
    ids=["alone at 1", "alone at 4", "independent", "corner-wave", "linearly dependent"],
)
def test_the_example_of_li2012_comes_out(between: list[list[float]], error: float) -> None:
    """Section 4: variance 1, noise variances 1 and 4."""
    _, variance = pooling_weights(np.array(between))
    found = linear_estimate(np.zeros((1, 1)), np.zeros(1), np.eye(1), variance * np.eye(1))
    assert float(found.error_covariance[0, 0]) == pytest.approx(error, abs=1e-12)


def test_the_reconstruction_of_the_example_comes_out() -> None:
    """Section 4.2.1: Alice and Bob together reconstruct [85, 95]/9 when no noise fell."""
    weights, variance = pooling_weights(independent_between(np.array([1.0, 4.0])))
    x = np.array([[9.0], [11.0]])
    seen = pooled_copy([x, x], weights)
    found = linear_estimate(seen, np.array([10.0]), np.eye(1), variance * np.eye(1))
    np.testing.assert_allclose(found.values[:, 0], [85 / 9, 95 / 9])
    np.testing.assert_allclose(weights, [0.8, 0.2])


def test_of_cornerwave_copies_only_the_least_perturbed_counts() -> None:
    weights, variance = pooling_weights(cornerwave_between(VARIANCES))
    np.testing.assert_allclose(weights, [0, 0, 0, 1], atol=1e-12)
    assert variance == pytest.approx(0.25)


def test_theorems_3_and_4_are_what_pooling_yields() -> None:
    K = covariance_with(np.array([4.0, 2.0, 0.3]), np.random.default_rng(3))

    def joint_error(between: FloatArray) -> FloatArray:
        _, variance = pooling_weights(between)
        return linear_estimate(np.zeros((1, 3)), np.zeros(3), K, variance * K).error_covariance

    independent = joint_error(independent_between(VARIANCES))
    cornerwave = joint_error(cornerwave_between(VARIANCES))
    np.testing.assert_allclose(independent, independent_copies_error(VARIANCES, K), rtol=1e-9)
    np.testing.assert_allclose(cornerwave, cornerwave_copies_error(VARIANCES, K), rtol=1e-9)
    np.testing.assert_allclose(cornerwave, single_copy_error(0.25, K), rtol=1e-9)


def test_a_copy_given_twice_adds_nothing() -> None:
    weights, variance = pooling_weights(np.ones((2, 2)))
    assert weights.sum() == pytest.approx(1)
    assert variance == pytest.approx(1)


def test_a_copy_without_noise_is_taken_as_it_is() -> None:
    weights, variance = pooling_weights(independent_between(np.array([2.0, 0.0])))
    np.testing.assert_array_equal(weights, [0, 1])
    assert variance == 0


def test_variances_of_very_different_size_are_all_used() -> None:
    weights, variance = pooling_weights(independent_between(np.array([1e-12, 1e9])))
    assert variance == pytest.approx(1e-12)
    assert weights[1] == pytest.approx(1e-21)


def test_noise_shaped_like_the_data_is_estimated_from_the_copies() -> None:
    rng = np.random.default_rng(4)
    copy = rng.normal(size=(200, 2)) @ np.array([[2.0, 0.0], [1.0, 0.5]])
    seen = pooled_observation([copy], [CopyGroup((0,), np.array([[3.0]]), None)])
    np.testing.assert_allclose(seen.noise_covariance, 3 / 4 * np.cov(copy, rowvar=False))


def test_weights_must_match_the_copies() -> None:
    with pytest.raises(ValueError, match="one weight per copy"):
        pooled_copy([np.zeros((2, 2))], np.array([0.5, 0.5]))
