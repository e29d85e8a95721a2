"""Categories drawn again follow what no single order of them can."""

from __future__ import annotations

import numpy as np

from app.numerics.synthesis.stratified.redraw import redrawable, redrawn


def test_a_category_follows_two_columns_that_order_it_differently() -> None:
    rng = np.random.default_rng(1)
    sides = rng.integers(0, 2, (2000, 2)).astype(float)
    original = np.column_stack([sides, sides[:, 0] + 2 * sides[:, 1]])
    synthetic = original.copy()
    rng.shuffle(synthetic[:, 2])
    made = redrawn(original, synthetic, np.array([2]), rng)
    np.testing.assert_array_equal(made[:, 2], made[:, 0] + 2 * made[:, 1])
    np.testing.assert_array_equal(made[:, :2], synthetic[:, :2])


def test_missing_cells_stay_missing_and_are_no_category() -> None:
    rng = np.random.default_rng(2)
    original = np.column_stack([rng.normal(size=300), rng.integers(0, 4, 300)])
    original[:50, 1] = np.nan
    synthetic = original[::-1].copy()
    made = redrawn(original, synthetic, np.array([1]), rng)
    np.testing.assert_array_equal(np.isnan(made), np.isnan(synthetic))
    assert set(made[~np.isnan(made[:, 1]), 1]) == {0.0, 1.0, 2.0, 3.0}


def test_shares_stay_where_the_table_itself_is_drawn_again() -> None:
    rng = np.random.default_rng(3)
    original = np.column_stack([rng.normal(size=1000), rng.integers(0, 5, 1000)])
    made = redrawn(original, original, np.array([1]), rng)
    np.testing.assert_array_equal(np.sort(made[:, 1]), np.sort(original[:, 1]))
    assert (made[:, 1] != original[:, 1]).mean() > 0.5


def test_two_categories_are_left_as_they_are() -> None:
    rng = np.random.default_rng(4)
    values = np.column_stack([rng.integers(0, 2, 90), rng.integers(0, 3, 90)]).astype(float)
    np.testing.assert_array_equal(redrawable(values, np.array([0, 1])), [1])
