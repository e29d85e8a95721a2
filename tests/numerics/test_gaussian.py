"""Factors of covariances of any rank."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.covariances import covariance_factor, nearest_semidefinite


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


def test_a_correlation_above_one_by_rounding_alone_has_a_factor() -> None:
    """As gaps in the data leave it: what counts as rounding there counts as rounding here."""
    K = np.array([[1.0, 1.0 + 2e-11], [1.0 + 2e-11, 1.0]])
    kept, removed = nearest_semidefinite(K, np.ones(2))
    assert removed == 0
    L = covariance_factor(kept)
    assert L.shape == (2, 1)
    np.testing.assert_allclose(L @ L.T, K, atol=1e-10)
