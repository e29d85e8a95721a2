"""The formulas against each other; those that an attack must meet are tested beside it."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.arrays import FloatArray
from app.numerics.attacks.closed_forms import (
    linear_estimate_error,
    ndr_error,
    pca_error,
    single_copy_error,
)
from app.numerics.attacks.spectral import fixed_count
from papers.li2012_theory import independent_copies_error
from tests.numerics.attacks.simulated import covariance_with


def gaussian_udr_error(covariance: FloatArray, noise_covariance: FloatArray) -> float:
    """k·s/(k+s) on average over the attributes' variances k and s: UDR of normal data, attribute by attribute."""
    own, noise = np.diag(covariance), np.diag(noise_covariance)
    total = own + noise
    return float(np.mean(own * noise / np.where(total > 0, total, 1.0)))


def test_one_independent_copy_is_a_single_copy() -> None:
    K = covariance_with(np.array([3.0, 1.0]), np.random.default_rng(1))
    np.testing.assert_allclose(
        independent_copies_error(np.array([0.7]), K), single_copy_error(0.7, K), rtol=1e-14
    )


def test_a_copy_without_noise_leaves_no_error() -> None:
    np.testing.assert_array_equal(independent_copies_error(np.array([1.0, 0.0]), np.eye(2)), 0.0)


def test_the_error_under_shaped_noise_is_equation_9_of_li2012() -> None:
    K = covariance_with(np.array([3.0, 1.0]), np.random.default_rng(2))
    assert linear_estimate_error(K, 0.5 * K) == pytest.approx(0.5 / 1.5 * np.trace(K) / 2)


def test_of_independent_attributes_the_linear_error_is_the_univariate_one() -> None:
    K, noise = np.diag([4.0, 1.0, 0.0]), np.diag([1.0, 2.0, 0.0])
    assert gaussian_udr_error(K, noise) == pytest.approx(linear_estimate_error(K, noise))


def test_correlations_can_only_help_the_attacker() -> None:
    K = covariance_with(np.array([8.0, 1.0, 0.5]), np.random.default_rng(3))
    noise = 2 * np.eye(3)
    best_pca = min(pca_error(K, noise, fixed_count(kept)) for kept in (1, 2, 3))
    assert linear_estimate_error(K, noise) < best_pca <= ndr_error(noise)
    assert linear_estimate_error(K, noise) < gaussian_udr_error(K, noise) < ndr_error(noise)


def test_what_pca_leaves_of_independent_noise_is_theorem_5_2() -> None:
    K = covariance_with(np.array([8.0, 4.0, 0.5]), np.random.default_rng(4))
    of_the_noise, of_what_is_dropped = 3.0 * 2 / 3, 0.5 / 3
    expected = of_the_noise + of_what_is_dropped
    assert pca_error(K, 3 * np.eye(3), fixed_count(2)) == pytest.approx(expected)
