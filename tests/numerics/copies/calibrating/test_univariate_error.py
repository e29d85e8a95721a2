"""The error of the best guess of any kind, against cases with a formula."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from app.numerics.copies.calibrating.univariate_error import best_guess_error


@pytest.mark.parametrize("v", [0.01, 0.25, 1.0, 4.0, 100.0])
def test_of_a_normal_column_no_guess_beats_the_linear_one(v: float) -> None:
    values = 5 + 3 * norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    assert best_guess_error(values, v * values.var()) == pytest.approx(v / (1 + v), rel=2e-3)


@pytest.mark.parametrize("v", [0.25, 1.0, 4.0])
def test_a_coin_is_guessed_by_the_sign(v: float) -> None:
    """E[X|Y] = tanh(Y/v) for X = ±1: another formula, another quadrature."""
    expected = (
        1
        - quad(
            lambda y: norm.pdf(y, 1, np.sqrt(v)) * np.tanh(y / v) ** 2,
            -12 * np.sqrt(v),
            1 + 12 * np.sqrt(v),
        )[0]
    )
    assert best_guess_error(np.array([-1.0, 1.0] * 50), v) == pytest.approx(expected, rel=2e-3)
    assert expected < v / (1 + v)


def test_a_skewed_column_is_left_with_less_than_a_normal_one() -> None:
    rng = np.random.default_rng(1)
    gains = np.where(rng.random(100_000) < 0.92, 0.0, rng.lognormal(8, 1.5, 100_000))
    assert best_guess_error(gains, gains.var()) < 0.45
    assert best_guess_error(1e-9 * gains, 1e-18 * gains.var()) == pytest.approx(
        best_guess_error(gains, gains.var()), rel=1e-6
    )


def test_far_outliers_and_gaps_do_not_break_it() -> None:
    values = np.concatenate([np.random.default_rng(2).normal(size=1_000), [1e9, np.nan]])
    assert 0 <= best_guess_error(values, 1.0) < 1e-6
    assert np.isnan(best_guess_error(np.array([2.0, 2.0, np.nan]), 1.0))
    assert np.isnan(best_guess_error(np.array([np.nan]), 1.0))
