"""Coefficient rows against the Cholesky factor and against a literal, dense algorithm 3."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.numerics.copies.path import bridges, conditional_coefficients, sequential_order
from papers.li2012_theory import coefficient_rows, independent_coefficients, shaped_noise

FloatArray = NDArray[np.float64]


def corner_wave(variances: FloatArray) -> FloatArray:
    """min(v_i, v_j) [li2012, eq. 15, as corrected]."""
    return np.minimum.outer(variances, variances)


def dense_algorithm_3(
    variances: FloatArray, issued: int, K: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The conditional mean and covariance of eqs. (17) and (18), with the Kronecker products.

    `noise` stacks the values of the `issued` copies already given out, one row of data.
    """
    whole = np.kron(corner_wave(variances), K)
    cut = issued * len(K)
    K_old, K_new_old, K_new = whole[:cut, :cut], whole[cut:, :cut], whole[cut:, cut:]
    weights: FloatArray = np.linalg.solve(K_old, K_new_old.T).T
    return np.asarray(weights @ noise, dtype=np.float64), np.subtract(K_new, weights @ K_new_old.T)


def random_levels(count: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).uniform(0.25, 1.0, count)


@pytest.mark.parametrize("seed", range(5))
def test_coefficient_rows_are_the_cholesky_factor_in_order_of_arrival(seed: int) -> None:
    variances = random_levels(300, seed)
    rows = coefficient_rows(variances.tolist())
    np.testing.assert_allclose(rows, np.linalg.cholesky(corner_wave(variances)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(rows @ rows.T, corner_wave(variances), rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_conditional_moments_equal_the_dense_algorithm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    variances = random_levels(12, seed)
    issued, d = 7, 3
    factor = np.tril(rng.normal(size=(d, d))) + 2 * np.eye(d)
    K = factor @ factor.T
    rows = coefficient_rows(variances.tolist())
    normals = rng.normal(size=(issued, d))
    old_noise = rows[:issued, :issued] @ normals @ factor.T

    mean, covariance = dense_algorithm_3(variances, issued, K, old_noise.ravel())

    np.testing.assert_allclose(rows[issued:, :issued] @ normals @ factor.T, mean.reshape(-1, d))
    fresh = rows[issued:, issued:]
    np.testing.assert_allclose(np.kron(fresh @ fresh.T, K), covariance, atol=1e-12)


def test_only_the_two_neighbours_have_weight() -> None:
    variances = random_levels(9, 3)
    mean_weights = np.linalg.solve(
        corner_wave(variances)[:-1, :-1], corner_wave(variances)[:-1, -1]
    )
    bridge = bridges(variances.tolist())[-1]
    expected = np.zeros(8)
    if bridge.lower is not None:
        expected[bridge.lower] = bridge.lower_weight
    if bridge.upper is not None:
        expected[bridge.upper] = bridge.upper_weight
    np.testing.assert_allclose(mean_weights, expected, atol=1e-12)


def test_levels_in_ascending_order_add_independent_noise_each() -> None:
    variances = random_levels(20, 4)
    ascending = variances[sequential_order(variances.tolist())]
    rows = coefficient_rows(ascending.tolist())
    increments = np.sqrt(np.diff(ascending, prepend=0.0))
    np.testing.assert_allclose(rows, np.tril(np.tile(increments, (20, 1))), atol=1e-14)


def test_most_coefficients_of_a_long_random_history_are_exactly_zero() -> None:
    """The support is a path in a search tree: 2·ln(300) on average, and not 300."""
    support = [
        np.count_nonzero(coefficient_rows(random_levels(300, seed).tolist())[-1])
        for seed in range(40)
    ]
    assert np.mean(support) < 2 * math.log(300) + 2
    assert max(support) < 40


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.floats(min_value=1e-300, max_value=1e300, allow_nan=False),
        min_size=1,
        max_size=25,
        unique=True,
    )
)
def test_bridges_stay_finite_for_any_distinct_variances(variances: list[float]) -> None:
    for bridge in bridges(variances):
        assert math.isfinite(bridge.fresh_sd)
        assert 0 <= bridge.lower_weight <= 1
        assert 0 <= bridge.upper_weight <= 1


@pytest.mark.parametrize("variance", [0.0, -1.0, math.nan, math.inf, 0.5])
def test_a_variance_that_is_unusable_or_there_already_has_no_bridge(variance: float) -> None:
    with pytest.raises(ValueError, match="strictly between"):
        bridges([0.5, variance])


def test_an_infinite_neighbour_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        conditional_coefficients(0.0, 1.0, math.inf)


# The example of sections 4.2.1, 4.2.2 and 4.3: one attribute of variance 1, levels 1 and 4.


def joint_error(coefficients: FloatArray) -> float:
    """The error of the best linear estimate from all copies, K_X = 1 [li2012, eq. 7]."""
    m = len(coefficients)
    noise = coefficients @ coefficients.T
    return float(1 - np.ones(m) @ np.linalg.pinv(np.ones((m, m)) + noise) @ np.ones(m))


def test_the_worked_example() -> None:
    assert joint_error(coefficient_rows([1.0])) == pytest.approx(0.5, abs=1e-12)
    assert joint_error(coefficient_rows([4.0])) == pytest.approx(0.8, abs=1e-12)
    assert joint_error(independent_coefficients([1.0, 4.0])) == pytest.approx(4 / 9, abs=1e-12)
    assert joint_error(coefficient_rows([1.0, 4.0])) == pytest.approx(0.5, abs=1e-12)
    assert joint_error(coefficient_rows([4.0, 1.0])) == pytest.approx(0.5, abs=1e-12)
    assert joint_error(np.array([[1.0], [2.0]])) == pytest.approx(0.0, abs=1e-12)


def test_independent_noise_lets_the_error_fall_as_theorem_3_says() -> None:
    variances = random_levels(30, 5)
    expected = 1 / (1 + (1 / variances).sum())
    assert joint_error(independent_coefficients(variances.tolist())) == pytest.approx(expected)


def test_shaped_noise_has_the_covariance_of_theorem_4() -> None:
    """In expectation over unit normals, exactly: feed it the unit vectors."""
    variances = [0.7, 0.3, 0.5]
    factor = np.array([[2.0, 0.0], [1.0, 3.0]])
    rows = coefficient_rows(variances)
    m, r = 3, 2
    responses = np.empty((m * r, m, 2))
    for draw in range(m):
        for column in range(r):
            normals = np.zeros((m, 1, r))
            normals[draw, 0, column] = 1.0
            responses[draw * r + column] = shaped_noise(rows, normals, factor)[:, 0, :]
    covariance = np.einsum("gia,gjb->iajb", responses, responses)
    expected = np.einsum("ij,ab->iajb", corner_wave(np.array(variances)), factor @ factor.T)
    np.testing.assert_allclose(covariance, expected, atol=1e-12)
