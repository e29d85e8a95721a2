"""Moments from rows with gaps, and factors of covariances of any rank."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.gaussian import covariance_factor, sample_moments


def test_a_factor_of_full_rank_is_the_cholesky_factor() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5)) * [1e-6, 1, 1e3, 1e6, 1]
    K = A.T @ A
    L = covariance_factor(K)
    np.testing.assert_allclose(L @ L.T, K, rtol=1e-10)
    np.testing.assert_array_equal(L, np.tril(L))


def test_a_factor_of_deficient_rank_is_thin() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)) * [1.0, 1e5, 1e-4]
    X = np.column_stack([X, X @ [1.0, 2.0, 0.0], X[:, 2] * -7.0])
    K = np.cov(X.T)
    L = covariance_factor(K)
    assert L.shape == (5, 3)
    sd = np.sqrt(np.diag(K))
    np.testing.assert_allclose(L @ L.T / np.outer(sd, sd), K / np.outer(sd, sd), atol=1e-12)


def test_noise_of_deficient_rank_keeps_the_dependence_of_the_columns() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 2))
    L = covariance_factor(np.cov(np.column_stack([X, X.sum(axis=1)]).T))
    noise = rng.normal(size=(10, L.shape[1])) @ L.T
    np.testing.assert_allclose(noise[:, 0] + noise[:, 1], noise[:, 2], atol=1e-12)


def test_a_constant_column_has_no_noise() -> None:
    L = covariance_factor(np.diag([2.0, 0.0]))
    np.testing.assert_allclose(L @ L.T, np.diag([2.0, 0.0]))
    assert L.shape == (2, 1)


@pytest.mark.parametrize(
    "K",
    [
        np.ones((2, 3)),
        np.array([[1.0, np.nan], [np.nan, 1.0]]),
        np.array([[1.0, 0.5], [0.2, 1.0]]),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.array([[-1.0]]),
    ],
)
def test_what_is_not_a_covariance_has_no_factor(K: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="a covariance"):
        covariance_factor(K)


def test_moments_do_not_depend_on_the_blocks() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 3)) * [1.0, 10.0, 0.1] + [1e6, -3.0, 0.0]
    moments = sample_moments([X[:10], X[10:600], X[600:]])
    np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(X.T), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(moments.present, [1000, 1000, 1000])
    np.testing.assert_array_equal(moments.largest, np.abs(X).max(axis=0))


def test_gaps_leave_each_variance_to_the_values_that_are_there() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 3)) @ np.array([[1.0, 0.9, 0.8], [0.0, 0.4, 0.1], [0.0, 0.0, 0.3]])
    X[rng.random(X.shape) < 0.3] = np.nan
    moments = sample_moments([X[:100], X[100:]])
    np.testing.assert_allclose(moments.mean, np.nanmean(X, axis=0))
    np.testing.assert_allclose(np.diag(moments.covariance), np.nanvar(X, axis=0, ddof=1))
    np.testing.assert_array_equal(moments.present, (~np.isnan(X)).sum(axis=0))
    both = ~np.isnan(X[:, :2]).any(axis=1)
    pairwise = np.cov(X[both, :2].T)[0, 1]
    assert moments.covariance[0, 1] == pytest.approx(pairwise, rel=1e-9)
    covariance_factor(moments.covariance)


def test_contradictory_pairs_still_give_a_covariance() -> None:
    """Three columns, each pair seen on its own rows with correlations no joint law can have."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=(3, 50))
    X = np.full((150, 3), np.nan)
    X[:50, 0], X[:50, 1] = z[0], z[0]
    X[50:100, 1], X[50:100, 2] = z[1], z[1]
    X[100:, 0], X[100:, 2] = z[2], -z[2]
    moments = sample_moments([X])
    assert np.linalg.eigvalsh(moments.covariance)[0] > -1e-12
    np.testing.assert_allclose(np.diag(moments.covariance), np.nanvar(X, axis=0, ddof=1))
    covariance_factor(moments.covariance)


def test_a_column_without_values_has_variance_zero() -> None:
    X = np.array([[1.0, np.nan], [2.0, np.nan]])
    moments = sample_moments([X])
    assert moments.covariance[1, 1] == 0
    assert moments.present.tolist() == [2, 0]


def test_infinite_values_and_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        sample_moments([np.array([[np.inf]])])
    with pytest.raises(ValueError, match="at least one"):
        sample_moments([])
