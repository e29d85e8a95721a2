"""Factors of whatever rank, and scales of whatever size."""

from __future__ import annotations

import numpy as np
import pytest

from app.errors import InvalidTable
from app.numerics.synthesis.moments import (
    centre_and_spread,
    moments,
    normalised,
    restored,
    whitened,
)


def table(seed: int = 1, n: int = 200, d: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.exponential(size=(n, d)) @ rng.normal(size=(d, d)) + 5.0)


def test_the_factor_is_the_cholesky_factor() -> None:
    values = table()
    factor = moments(values).factor
    expected = np.linalg.cholesky(np.corrcoef(values.T))
    np.testing.assert_allclose(factor, expected, atol=1e-12)
    assert np.array_equal(factor, np.tril(factor))


def test_collinear_and_constant_columns_lower_the_rank_and_keep_the_correlation() -> None:
    values = table()
    wider = np.column_stack([values, values[:, 0] - 2 * values[:, 1], np.full(len(values), 7.0)])
    of = moments(wider)
    assert of.rank == 4
    assert of.deviation[-1] == 0.0
    product = of.factor @ of.factor.T
    np.testing.assert_allclose(product[:5, :5], np.corrcoef(wider[:, :5].T), atol=1e-12)
    np.testing.assert_array_equal(product[5], 0.0)


def test_normalising_and_restoring_are_inverse() -> None:
    values = np.column_stack([table(), np.full(200, -3.25)])
    of = moments(values)
    np.testing.assert_allclose(restored(normalised(values, of), of), values, rtol=1e-12)
    np.testing.assert_array_equal(restored(normalised(values, of), of)[:, -1], -3.25)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_very_large_and_very_small_values_neither_overflow_nor_vanish(scale: float) -> None:
    values = table()
    mean, deviation = centre_and_spread(values * scale)
    np.testing.assert_allclose(mean / scale, values.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(deviation / scale, values.std(axis=0), rtol=1e-9)
    assert moments(values * scale).rank == 4


def test_whitening_is_exact_and_triangular() -> None:
    seeds = table(n=50)
    white = whitened(seeds)
    np.testing.assert_allclose(white.T @ white / 50, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(white.mean(axis=0), 0.0, atol=1e-14)
    # Gram-Schmidt: the first column is only centred and scaled.
    first = (seeds[:, 0] - seeds[:, 0].mean()) / seeds[:, 0].std()
    np.testing.assert_allclose(white[:, 0], first, atol=1e-12)


def test_one_record_is_refused() -> None:
    with pytest.raises(InvalidTable) as refused:
        moments(np.ones((1, 3)))
    assert {"records": 1, "needed": 2}.items() <= refused.value.fields.items()


def test_a_table_without_variation_is_refused() -> None:
    with pytest.raises(InvalidTable):
        moments(np.full((5, 2), 3.0))


def test_values_that_are_not_finite_are_misuse() -> None:
    with pytest.raises(ValueError, match="finite"):
        moments(np.array([[1.0, np.nan], [2.0, 3.0]]))
