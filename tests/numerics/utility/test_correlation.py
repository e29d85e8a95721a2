"""Correlation matrices against their definitions, and the bias between two of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from app.numerics.utility.association import (
    CORRELATIONS,
    DIRECT_ROWS,
    kendall,
    pearson,
    relative_bias,
    spearman,
)


def values(n: int = 60, *, ties: bool = False, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    table = rng.exponential(size=(n, 3)) @ rng.normal(size=(3, 3))
    return np.round(table) if ties else table


def tau_b(x: np.ndarray, y: np.ndarray) -> float:
    """From the definition, pair by pair."""
    first = np.sign(np.subtract.outer(x, x))
    second = np.sign(np.subtract.outer(y, y))
    return float((first * second).sum() / np.sqrt((first**2).sum() * (second**2).sum()))


@pytest.mark.parametrize("ties", [False, True])
def test_pearson_and_spearman_agree_with_numpy_and_scipy(ties: bool) -> None:
    table = values(ties=ties)
    np.testing.assert_allclose(pearson(table), np.corrcoef(table.T), atol=1e-14)
    np.testing.assert_allclose(spearman(table), stats.spearmanr(table).statistic, atol=1e-14)


def test_without_ties_spearman_and_kendall_are_equations_7_and_8() -> None:
    table = values()
    n = len(table)
    ranks = stats.rankdata(table, axis=0)
    squares = ((ranks[:, 0] - ranks[:, 1]) ** 2).sum()
    assert spearman(table)[0, 1] == pytest.approx(1 - 6 * squares / (n * (n**2 - 1)))
    signs = [
        np.sign((table[k, 0] - table[i, 0]) * (table[k, 1] - table[i, 1]))
        for k in range(n)
        for i in range(k + 1, n)
    ]
    assert kendall(table)[0, 1] == pytest.approx(2 * np.sum(signs) / (n * (n - 1)))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [60, DIRECT_ROWS, DIRECT_ROWS + 1])
def test_kendall_is_tau_b_by_both_ways(ties: bool, n: int) -> None:
    table = values(n, ties=ties)
    matrix = kendall(table)
    for i in range(3):
        for j in range(3):
            assert matrix[i, j] == pytest.approx(tau_b(table[:, i], table[:, j]), abs=1e-12)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_a_pair_is_compared_where_both_are_present(name: str) -> None:
    table = values()
    table[:10, 0] = np.nan
    table[5:20, 1] = np.nan
    matrix = CORRELATIONS[name](table)
    both = CORRELATIONS[name](table[20:, :2])
    assert matrix[0, 1] == matrix[1, 0] == pytest.approx(both[0, 1], abs=1e-14)
    assert matrix[0, 2] == pytest.approx(CORRELATIONS[name](table[10:, [0, 2]])[0, 1], abs=1e-14)
    np.testing.assert_array_equal(np.diag(matrix), 1.0)


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("gap", [False, True])
def test_a_constant_column_has_no_correlation(name: str, gap: bool) -> None:
    table = values()
    table[:, 2] = 3.0
    if gap:
        table[0, 0] = np.nan
    matrix = CORRELATIONS[name](table)
    assert np.isnan(matrix[2]).all()
    assert np.isfinite(matrix[:2, :2]).all()


def test_pearson_takes_any_scale() -> None:
    table = values()
    np.testing.assert_allclose(pearson(table * [1e-200, 1e200, 1]), pearson(table), atol=1e-12)


def test_relative_bias_averages_the_upper_triangle_with_the_diagonal() -> None:
    original = np.array([[1.0, 0.5, -0.2], [0.5, 1.0, 0.1], [-0.2, 0.1, 1.0]])
    released = np.array([[1.0, 0.4, -0.3], [0.4, 1.0, 0.1], [-0.3, 0.1, 1.0]])
    bias = relative_bias(original, released)
    assert bias.mean == pytest.approx((0.2 + 0.5 + 0 + 0 + 0 + 0) / 6)
    assert (bias.pairs, bias.left_out) == (6, 0)


def test_pairs_without_a_correlation_to_compare_with_are_left_out_and_counted() -> None:
    original = np.array([[1.0, 0.0], [0.0, np.nan]])
    bias = relative_bias(original, np.eye(2))
    assert (bias.mean, bias.pairs, bias.left_out) == (0.0, 1, 2)
    assert np.isnan(relative_bias(np.full((1, 1), np.nan), np.eye(1)).mean)
