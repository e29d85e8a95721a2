"""Rows that depend on their neighbours are cleaned by them, others are left to BE-DR."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import (
    Observation,
    linear_estimate,
    serial_smoothing,
    window_covariance,
)
from app.numerics.attacks.evidence import partial_knowledge
from tests.numerics.attacks.simulated import disguised, mean_squared


def autoregressive(n: int, d: int, memory: float, rng: np.random.Generator) -> FloatArray:
    """Stationary rows of variance 1 that keep the share `memory` of the one before."""
    rows = rng.normal(size=(n, d))
    for t in range(1, n):
        rows[t] = memory * rows[t - 1] + np.sqrt(1 - memory**2) * rows[t]
    return rows


def test_a_reach_of_zero_is_the_linear_estimate() -> None:
    rng = np.random.default_rng(1)
    seen = disguised(rng.normal(size=(500, 3)), 0.5 * np.eye(3), rng)
    centred = seen.values - seen.values.mean(axis=0)
    covariance = centred.T @ centred / 500 - 0.5 * np.eye(3)
    plain = linear_estimate(seen.values, seen.values.mean(axis=0), covariance, 0.5 * np.eye(3))
    np.testing.assert_allclose(serial_smoothing(seen, 0), plain.values, atol=1e-10)


def test_the_error_of_an_autoregressive_series_is_that_of_wiener() -> None:
    """Long windows on x_t = a·x_{t-1} + …: the error is the integral of S·σ²/(S+σ²)."""
    rng = np.random.default_rng(2)
    memory, noise = 0.9, 1.0
    x = autoregressive(40_000, 1, memory, rng)
    frequency = np.linspace(-np.pi, np.pi, 20_001)
    spectrum = (1 - memory**2) / (1 - 2 * memory * np.cos(frequency) + memory**2)
    wiener = float(np.mean(spectrum * noise / (spectrum + noise)))
    found = serial_smoothing(disguised(x, noise * np.eye(1), rng), 8)
    assert mean_squared(found - x) == pytest.approx(wiener, rel=0.06)
    assert wiener < 0.7 * 0.5  # far below BE-DR's v/(1+v)


def test_independent_rows_cannot_help_each_other() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20_000, 2))
    found = serial_smoothing(disguised(x, np.eye(2), rng), 3)
    assert mean_squared(found - x) == pytest.approx(0.5, rel=0.03)


def test_rows_at_the_ends_are_estimated_within_a_whole_window() -> None:
    """With a table of one window, every row comes from the one LLSE of the stacked rows."""
    rng = np.random.default_rng(4)
    seen = disguised(autoregressive(5, 2, 0.9, rng), 0.3 * np.eye(2), rng)
    centred = seen.values - seen.values.mean(axis=0)
    seen_covariance = window_covariance(centred, 2)
    found = serial_smoothing(seen, 2)
    assert found.shape == (5, 2)
    original = seen_covariance - 0.3 * np.eye(10)
    eigenvalues, vectors = np.linalg.eigh(
        original / np.outer(*[np.sqrt(np.diag(seen_covariance))] * 2)
    )
    scale = np.sqrt(np.diag(seen_covariance))
    original = (vectors * np.maximum(eigenvalues, 0)) @ vectors.T * np.outer(scale, scale)
    whole = linear_estimate(centred.reshape(1, 10), np.zeros(10), original, 0.3 * np.eye(10))
    expected = whole.values.reshape(5, 2) + seen.values.mean(axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_window_covariances_are_semidefinite_and_block_toeplitz() -> None:
    centred = np.random.default_rng(5).normal(size=(12, 2))
    found = window_covariance(centred - centred.mean(axis=0), 3)
    assert np.linalg.eigvalsh(found)[0] > -1e-12
    np.testing.assert_array_equal(found[:2, 2:4], found[8:10, 10:12])
    np.testing.assert_array_equal(found, found.T)


def test_its_covariance_at_lag_zero_is_the_adversarys() -> None:
    rng = np.random.default_rng(7)
    seen = disguised(rng.normal(size=(50, 2)), 0.1 * np.eye(2), rng)
    centred = seen.values - seen.values.mean(axis=0)
    np.testing.assert_allclose(
        window_covariance(centred, 0) * 50 / 49 - 0.1 * np.eye(2),
        partial_knowledge(seen).covariance,
        atol=1e-12,
    )


@pytest.mark.parametrize("reach", [-1, 3])
def test_a_window_longer_than_the_table_is_refused(reach: int) -> None:
    with pytest.raises(ValueError, match="reach"):
        serial_smoothing(Observation(np.zeros((5, 1)), np.eye(1)), reach)
