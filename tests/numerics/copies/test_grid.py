"""The release grid: exact powers of two, tied to the noise, and nothing lost on the way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.numerics.copies.grid import (
    bounds_on_grid,
    carries_noise,
    grid_exponents,
    round_to_grid,
    whole_numbers,
    within_bounds,
)


@given(st.floats(1e-200, 1e200), st.floats(1e-6, 1e6))
def test_the_step_is_the_power_of_two_about_a_millionth_of_the_noise(
    column_variance: float, noise_variance: float
) -> None:
    (exponent,) = grid_exponents(np.array([column_variance]), noise_variance)
    relative = math.sqrt(column_variance * noise_variance) / 2.0**exponent
    assert 2.0**20 * (1 - 1e-12) <= relative < 2.0**21


@pytest.mark.parametrize("variance", [0.0, -1.0, math.nan, math.inf])
def test_a_column_without_noise_has_no_grid(variance: float) -> None:
    with pytest.raises(ValueError, match="noise"):
        grid_exponents(np.array([1.0, variance]), 0.5)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.integers(-30, 10))
def test_released_values_are_the_nearest_multiples_of_the_step(
    values: list[float], exponent: int
) -> None:
    released = np.array([values, values])
    round_to_grid(released, [exponent, exponent + 1])
    for row, step in zip(released, (2.0**exponent, 2.0 ** (exponent + 1)), strict=True):
        np.testing.assert_array_equal(row / step, np.rint(row / step))
        assert (np.abs(row - values) <= step / 2).all()


def test_missing_values_stay_missing_through_everything() -> None:
    values = np.array([1.26, np.nan, -7.9])
    round_to_grid(values[np.newaxis], [-2])
    np.testing.assert_array_equal(values, [1.25, np.nan, -8.0])
    np.testing.assert_array_equal(within_bounds(values, -2.0, 1.0), [1.0, np.nan, -2.0])
    numbers, missing = whole_numbers(values)
    assert numbers.tolist() == [1, 0, -8]
    assert missing.tolist() == [False, True, False]


def test_one_bound_is_enough_and_none_changes_nothing() -> None:
    values = np.array([-3.0, 3.0])
    assert within_bounds(values, None, None) is values
    np.testing.assert_array_equal(within_bounds(values, 0.0, None), [0.0, 3.0])
    np.testing.assert_array_equal(within_bounds(values, None, 0.0), [-3.0, 0.0])


def test_whole_numbers_beyond_64_bits_are_limited() -> None:
    numbers, _ = whole_numbers(np.array([1e300, -1e300, 2.0**62]))
    assert numbers.tolist() == [2**63 - 1024, -(2**63), 2**62]


def test_a_magnitude_that_swallows_the_noise_is_noticed() -> None:
    (exponent,) = grid_exponents(np.array([1.0]), 0.25)
    assert carries_noise(1e6, exponent)
    assert not carries_noise(1e16, exponent)


def test_bounds_move_inwards_to_the_grid() -> None:
    assert bounds_on_grid(0.1, 0.7, -2) == (0.25, 0.5)
    assert bounds_on_grid(None, -0.1, -2) == (None, -0.25)
    assert bounds_on_grid(0.3, 0.4, -2) == (0.3, 0.4)  # no multiple between them
    assert bounds_on_grid(-1e308, 1e308, -1_000) == (-1e308, 1e308)
