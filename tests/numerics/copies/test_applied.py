"""The applied variance against the bound that it inverts, and the bound against exact left shares."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest

from app.numerics.copies.applied import applied_variance, squared_correlation

VARIANCES = (1e-12, 0.01, 0.25, 1.0, 4.0, 99.0, 1e12)
CORRELATIONS = (0.0, 1e-9, 0.3, 0.7, 1 - 1e-9, 1.0)


def bound(a: float, r_squared: float) -> float:
    """The share of variance that is left at least."""
    return a * (1 + a - r_squared) / (1 + a) ** 2


@pytest.mark.parametrize("r_squared", CORRELATIONS)
@pytest.mark.parametrize("v", VARIANCES)
def test_the_bound_at_the_applied_variance_is_the_promise(v: float, r_squared: float) -> None:
    a = applied_variance(v, r_squared)
    assert a >= v
    assert bound(a, r_squared) == pytest.approx(v / (1 + v), rel=1e-12)
    assert bound(0.99 * a, r_squared) < v / (1 + v)
    assert squared_correlation(v, a) == pytest.approx(r_squared, abs=1e-6)


@pytest.mark.parametrize("v", VARIANCES)
def test_the_ends_are_known(v: float) -> None:
    assert applied_variance(v, 0.0) == v
    assert applied_variance(v, 1.0) == pytest.approx(v + math.sqrt(v * (1 + v)), rel=1e-15)


@pytest.mark.parametrize("r_squared", CORRELATIONS)
def test_levels_that_differ_by_two_to_the_minus_40_stay_in_order(r_squared: float) -> None:
    for v in VARIANCES:
        nearly = [v * (1 + step * 2.0**-40) for step in range(5)]
        applied = [applied_variance(each, r_squared) for each in nearly]
        assert all(low < high for low, high in itertools.pairwise(applied))


@pytest.mark.parametrize("v", [0.25, 1.0, 4.0])
def test_numbers_and_facts_of_a_gaussian_pair_are_left_with_the_promise(v: float) -> None:
    """One number and a record that tells of it by lines, at every correlation between them."""
    for r_squared in np.linspace(0, 1, 21).tolist():
        a = applied_variance(v, r_squared)
        q, rest = 1 / (1 + a), 1 - r_squared
        fact = (1 - q) * (1 - r_squared / (1 + a))
        number = (1 - q) * a / (1 + a) + q * a * rest / (a + rest)
        assert fact == pytest.approx(v / (1 + v), rel=1e-12)
        assert number >= v / (1 + v) * (1 - 1e-12)


def test_what_cannot_be_is_refused() -> None:
    for v, r_squared in (
        (0, 0),
        (-1, 0),
        (math.inf, 0),
        (math.nan, 0),
        (1, -0.1),
        (1, 1.1),
        (1, math.nan),
    ):
        with pytest.raises(ValueError, match="positive and finite"):
            applied_variance(v, r_squared)
    assert math.isfinite(applied_variance(sys.float_info.max / 4, 1.0))
