"""Normal scores of ranks, and values back from ranks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from app.numerics.synthesis.columns.scores import (
    decimals_of,
    quantiles_of,
    score_intervals,
    scores_of_ranks,
)
from app.numerics.utility.quality import kolmogorov_smirnov


def test_equal_values_share_an_interval_as_wide_as_they_are_frequent() -> None:
    lower, upper = score_intervals(np.array([3.0, 1.0, 3.0, 2.0, np.nan]))
    np.testing.assert_allclose(special.ndtr(lower), [0.5, 0.125, 0.5, 0.375, 0.0])
    np.testing.assert_allclose(special.ndtr(upper), [1.0, 0.125, 1.0, 0.375, 1.0])


def test_a_constant_column_has_no_scores() -> None:
    lower, upper = score_intervals(np.array([4.0, 4.0]))
    np.testing.assert_array_equal([lower, upper], np.zeros((2, 2)))


def test_scores_follow_ranks_in_every_column() -> None:
    values = np.random.default_rng(1).exponential(size=(50, 3))
    scores = scores_of_ranks(values)
    np.testing.assert_array_equal(values.argsort(axis=0), scores.argsort(axis=0))
    np.testing.assert_allclose(
        np.sort(scores, axis=0)[:, 1], special.ndtri((np.arange(50) + 0.5) / 50)
    )


def test_tied_values_return_exactly_as_often_as_they_came() -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(0, 9, 400).astype(float)
    back = quantiles_of(values, interpolated=True, rounded=True).at_ranks(np.arange(400), 400, rng)
    np.testing.assert_array_equal(back, np.sort(values))


def test_single_values_move_between_their_neighbours_and_the_marginal_stays() -> None:
    rng = np.random.default_rng(3)
    values = np.sort(rng.exponential(size=500))
    back = quantiles_of(values, interpolated=True, rounded=False).at_ranks(np.arange(500), 500, rng)
    assert (back[1:-1] != values[1:-1]).mean() > 0.99
    middles = (values[1:] + values[:-1]) / 2
    assert (back[1:] >= middles).all()
    assert (back[:-1] <= middles).all()
    assert kolmogorov_smirnov(values, back) < 1.01 / 500


def test_other_numbers_of_rows_have_the_same_marginal() -> None:
    rng = np.random.default_rng(4)
    values = rng.lognormal(size=300)
    quantiles = quantiles_of(values, interpolated=True, rounded=False)
    for rows in (100, 1000):
        back = quantiles.at_ranks(np.arange(rows), rows, rng)
        assert kolmogorov_smirnov(values, back) <= 1 / rows + 1 / 300


def test_one_value_with_six_decimals_does_not_give_them_to_all() -> None:
    rng = np.random.default_rng(5)
    values = np.round(rng.uniform(0, 1000, 200), 1)
    values[17] = 0.123456
    back = quantiles_of(values, interpolated=True, rounded=True).at_ranks(np.arange(200), 200, rng)
    assert (decimals_of(back) > 1).sum() <= 1


def test_decimals_are_those_that_a_value_needs() -> None:
    np.testing.assert_array_equal(decimals_of(np.array([2.0, 0.1, 1.25, np.pi])), [0, 1, 2, 11])


def test_categories_are_not_interpolated_and_nothing_has_no_quantiles() -> None:
    rng = np.random.default_rng(6)
    codes = np.arange(30.0)
    back = quantiles_of(codes, interpolated=False, rounded=True).at_ranks(np.arange(30), 30, rng)
    np.testing.assert_array_equal(back, codes)
    with pytest.raises(ValueError, match="without values"):
        quantiles_of(np.array([np.nan]), interpolated=True, rounded=True)
