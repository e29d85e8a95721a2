"""Scores by hand, their intervals by repetition, and the two controls."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.attacks.score import comparison, score


def test_a_small_table_is_scored_by_hand() -> None:
    original = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 4.0]])
    guess = np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    found = score(original, guess, np.random.default_rng(1))
    np.testing.assert_allclose(found.rmse, [np.sqrt(5 / 3), np.sqrt(3)])
    assert found.overall_rmse == pytest.approx(np.sqrt(7 / 3))
    np.testing.assert_allclose(found.normalised_error, [(5 / 3) / (8 / 3), 1.0])
    assert found.overall_normalised_error == pytest.approx((14 / 3) / (14 / 3))
    np.testing.assert_allclose(found.within, [[1 / 3, 2 / 3]] * 3)
    np.testing.assert_allclose(found.overall_within, [0.5] * 3)


def test_shares_count_misses_in_standard_deviations() -> None:
    original = np.tile([[-10.0], [10.0]], (50, 1))  # standard deviation 10
    for miss, hits in ((0.05, [1, 1, 1]), (0.3, [0, 1, 1]), (0.9, [0, 0, 1]), (2.0, [0, 0, 0])):
        found = score(original, original + miss, np.random.default_rng(2))
        np.testing.assert_array_equal(found.overall_within, hits)


def test_guessing_the_mean_is_an_error_of_one() -> None:
    original = np.random.default_rng(3).normal(size=(500, 2))
    found = comparison(original, original, np.random.default_rng(4))
    np.testing.assert_allclose(found.baseline.normalised_error, 1)
    np.testing.assert_array_equal(found.attack.rmse, 0)


def test_a_worse_guess_than_the_mean_still_counts_as_one() -> None:
    original = np.random.default_rng(5).normal(size=(500, 2))
    found = score(original, original + 100, np.random.default_rng(6))
    assert found.overall_normalised_error == 1
    assert found.overall_rmse == pytest.approx(100)


def test_the_control_deals_no_row_its_own_guess() -> None:
    original = np.arange(2.0)[:, None]
    found = comparison(original, original, np.random.default_rng(7))
    assert found.control.overall_rmse == 1


def test_the_control_of_a_perfect_attack_is_twice_the_variance() -> None:
    original = np.random.default_rng(8).normal(size=(20_000, 1))
    found = comparison(original, original, np.random.default_rng(9))
    assert found.control.overall_rmse**2 == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("n", [200, 5000])
def test_the_interval_covers_the_truth_as_often_as_it_says(n: int) -> None:
    """Below and above the size at which rows are resampled in groups; 95 % ± 4 standard errors."""
    rng = np.random.default_rng(10)
    covered = 0
    for _ in range(120):
        found = score(np.zeros((n, 1)), rng.normal(size=(n, 1)), rng, resamples=300)
        low, high = found.overall_rmse_interval
        covered += low <= 1 <= high
    assert 0.88 < covered / 120 <= 1


def test_a_lower_confidence_is_a_narrower_interval() -> None:
    rng = np.random.default_rng(11)
    original, guess = np.zeros((500, 2)), rng.normal(size=(500, 2))
    wide = score(original, guess, np.random.default_rng(1), confidence=0.99)
    narrow = score(original, guess, np.random.default_rng(1), confidence=0.5)
    assert np.all(np.diff(narrow.rmse_interval, axis=0) < np.diff(wide.rmse_interval, axis=0))
    assert np.all(wide.rmse_interval[0] < wide.rmse)
    assert np.all(wide.rmse < wide.rmse_interval[1])


def test_a_constant_column_is_known_or_wrong() -> None:
    original = np.full((10, 2), 3.0)
    guess = np.column_stack([original[:, 0], original[:, 1] + 1])
    found = score(original, guess, np.random.default_rng(12))
    np.testing.assert_array_equal(found.normalised_error, [0, 1])


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_a_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        score(np.zeros((3, 1)), np.zeros((3, 1)), np.random.default_rng(13), confidence=confidence)


def test_tables_of_different_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="n × d"):
        score(np.zeros((3, 1)), np.zeros((3, 2)), np.random.default_rng(14))


def test_one_row_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="two rows"):
        comparison(np.zeros((1, 1)), np.zeros((1, 1)), np.random.default_rng(15))
