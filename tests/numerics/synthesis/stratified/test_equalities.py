"""Columns that are equal in most records stay so, and no column's values change for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.numerics.synthesis.methods import hybrid
from app.numerics.synthesis.stratified.dependencies import (
    Equality,
    equalised,
    equalities,
    still_equal,
)
from app.numerics.synthesis.stratified.recipe import drawn, recipe
from app.numerics.tables import MixedTable
from app.numerics.utility.quality import kolmogorov_smirnov


def earnings(n: int = 800, seed: int = 1) -> NDArray[np.float64]:
    """Age, all earnings, wages (nine of ten have no others), and wages of the main job (seven of eight of those)."""
    rng = np.random.default_rng(seed)
    age = np.round(rng.uniform(20, 65, n))
    every = np.round(300 * age * rng.lognormal(0, 0.5, n), -2) + np.where(
        rng.random(n) < 0.3, np.round(rng.uniform(0, 99, n)), 0
    )
    wages = np.where(rng.random(n) < 0.9, every, np.round(0.6 * every))
    main = np.where(rng.random(n) < 0.875, wages, np.round(0.8 * wages))
    return np.column_stack([age, every, wages, main])


def shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([(values[:, a] == values[:, b]).mean() for a, b in ((1, 2), (2, 3), (1, 3))])


def test_a_column_follows_the_earlier_one_that_it_agrees_with_most() -> None:
    assert equalities(earnings(), np.arange(4)) == ((1, 2), (2, 3))


def test_a_value_that_most_records_share_links_no_columns() -> None:
    rng = np.random.default_rng(2)
    gains = np.where(rng.random((1000, 2)) < 0.9, 0.0, rng.exponential(900, (1000, 2)))
    assert (gains[:, 0] == gains[:, 1]).mean() > 0.75
    assert equalities(gains, np.arange(2)) == ()
    assert equalities(np.zeros((9, 2)), np.arange(2)) == ()


def test_grades_that_often_agree_are_two_columns() -> None:
    rng = np.random.default_rng(6)
    grades = rng.integers(1, 11, 1000).astype(float)
    others = np.where(rng.random(1000) < 0.7, grades, rng.integers(1, 11, 1000))
    both = np.column_stack([grades, others])
    assert (both[:, 0] == both[:, 1]).mean() > 0.7
    assert equalities(both, np.arange(2)) == ()


def test_records_agree_as_often_as_they_did_in_every_value() -> None:
    original = earnings()
    rng = np.random.default_rng(3)
    synthetic = rng.permuted(original, axis=0)
    found = equalities(original, np.arange(4))
    made = equalised(original, synthetic, found)
    np.testing.assert_array_equal(np.sort(made, axis=0), np.sort(original, axis=0))
    np.testing.assert_array_equal(made[:, :2], synthetic[:, :2])
    assert shares(synthetic).max() < 0.05
    for leader, follower in found:
        common = original[original[:, leader] == original[:, follower], leader]
        for value, count in zip(*np.unique(common, return_counts=True), strict=True):
            equal = (made[:, leader] == value) & (made[:, follower] == value)
            assert equal.sum() >= count


def test_the_closest_agree_and_the_others_keep_their_order() -> None:
    original = np.array([[5, 5], [5, 5], [5, 1], [9, 2]], dtype=float)
    synthetic = np.array([[5, 1], [5, 5], [9, 5], [5, 2]], dtype=float)
    made = equalised(original, synthetic, [Equality(0, 1)])
    np.testing.assert_array_equal(made, [[5, 1], [5, 5], [9, 2], [5, 5]])


def test_missing_cells_stay_missing_and_their_records_as_they_are() -> None:
    original = earnings()
    rng = np.random.default_rng(4)
    original[rng.random(800) < 0.1, 2] = np.nan
    original[rng.random(800) < 0.1, 3] = np.nan
    synthetic = rng.permuted(original, axis=0)
    found = equalities(original, np.arange(4))
    assert found == ((1, 2), (2, 3))
    made = equalised(original, synthetic, found)
    np.testing.assert_array_equal(np.isnan(made), np.isnan(synthetic))
    np.testing.assert_array_equal(np.sort(made, axis=0), np.sort(original, axis=0))
    known = ~np.isnan(made).any(axis=1)
    assert (made[known, 2] == made[known, 3]).mean() > 0.7


def test_values_that_were_moved_are_moved_together_and_shared_ones_stay() -> None:
    values = np.array([[1, 1, 7], [4, 4, 4], [6, 6, 6], [8, 3, 3]], dtype=float)
    restored = np.array([[1.2, 0.9, 7.3], [4.1, 3.8, 4.0], [6.3, 5.9, 6.1], [8.1, 3.2, 2.9]])
    made = still_equal(restored, values, [Equality(0, 1), Equality(1, 2)])
    expected = [[1.2, 1.2, 7.3], [4.0, 4.0, 4.0], [6.3, 6.3, 6.3], [8.1, 3.2, 3.2]]
    np.testing.assert_array_equal(made, expected)


def test_a_synthesis_keeps_equality_and_marginals() -> None:
    values = earnings()
    table = MixedTable(values, np.empty((800, 0), dtype=np.intp), ())
    rng = np.random.default_rng(5)
    made = recipe(table, hybrid, rng, least=40)
    first, second = drawn(made, 1200, rng)
    for synthetic in (first, second):
        np.testing.assert_allclose(shares(synthetic.numeric), shares(values), atol=0.03)
    for before, after in zip(values.T, first.numeric.T, strict=True):
        assert kolmogorov_smirnov(before, after) < 0.01
        known, counts = np.unique(before, return_counts=True)
        for value, count in zip(known[counts > 1], counts[counts > 1], strict=True):
            assert (after == value).sum() >= count
