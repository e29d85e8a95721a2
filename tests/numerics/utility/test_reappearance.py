"""Measured leakage: everything leaks without protection, nothing leaks from fresh records."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from app.numerics.tables import MixedTable
from app.numerics.utility.reappearance import ReappearanceShare, nearest_distances, units
from tests.numerics.utility.reappearance_rates import reappearance


def population(n: int, seed: int) -> MixedTable:
    rng = np.random.default_rng(seed)
    return MixedTable(
        rng.normal(size=(n, 2)), rng.integers(-1, 3, size=(n, 1)).astype(np.intp), (3,)
    )


def test_releasing_the_original_leaks_every_record() -> None:
    table = population(300, 1)
    order = np.random.default_rng(2).permutation(300)
    found = reappearance(table, table.taken(order), deviation=units(table), distance=0.0)
    assert (found.exactly.count, found.within_distance.count) == (300, 300)
    assert found.median_distance == 0.0


def test_a_tiny_perturbation_hides_from_equality_but_not_from_distance() -> None:
    table = population(300, 3)
    moved = MixedTable(table.numeric + 1e-6, table.codes, table.categories)
    found = reappearance(table, moved, deviation=units(table), distance=0.001)
    assert (found.exactly.count, found.within_distance.count) == (0, 300)


def test_fresh_records_reappear_as_often_as_the_control() -> None:
    table, holdout, fresh = (population(1000, seed) for seed in (4, 5, 6))
    deviation = units(table)
    attack = reappearance(table, fresh, deviation=deviation, distance=0.05).within_distance
    control = reappearance(holdout, fresh, deviation=deviation, distance=0.05).within_distance
    assert control.count > 100  # the population is dense at this distance
    low, high = attack.interval
    assert low < control.interval[1]
    assert high > control.interval[0]


def test_the_distance_is_the_root_of_the_mean_of_squares() -> None:
    one = MixedTable(np.array([[1.0, 2.0]]), np.array([[0]]), (2,))
    other = MixedTable(np.array([[3.0, 2.0]]), np.array([[1]]), (2,))
    found = nearest_distances(one, other, deviation=np.array([4.0, 1.0]))
    assert found[0] == pytest.approx(np.sqrt((0.5**2 + 0 + 1) / 3))


def test_missing_equals_missing_and_differs_from_a_number() -> None:
    gap = MixedTable(np.array([[np.nan, 0.0]]), np.array([[-1]]), (2,))
    full = MixedTable(np.array([[0.0, -0.0]]), np.array([[-1]]), (2,))
    unit = np.ones(2)
    assert reappearance(gap, gap, deviation=unit, distance=0.0).exactly.count == 1
    assert reappearance(full, full, deviation=unit, distance=0.0).exactly.count == 1
    apart = reappearance(gap, full, deviation=unit, distance=0.0)
    assert (apart.exactly.count, apart.within_distance.count) == (0, 0)
    assert apart.median_distance == pytest.approx(np.sqrt(1 / 3))


def test_negative_zero_is_zero() -> None:
    zero = MixedTable(np.array([[0.0]]), np.empty((1, 0), dtype=np.intp), ())
    negative = MixedTable(np.array([[-0.0]]), np.empty((1, 0), dtype=np.intp), ())
    assert reappearance(zero, negative, deviation=np.ones(1), distance=0.0).exactly.count == 1


def test_the_nearest_is_found_across_blocks() -> None:
    table, many = population(50, 7), population(20_000, 8)
    codes = many.codes.copy()
    last = MixedTable(many.numeric, codes, many.categories)
    last.numeric[-1], codes[-1] = table.numeric[9], table.codes[9]
    assert nearest_distances(table, last, deviation=np.ones(2))[9] == 0.0


def test_units_are_standard_deviations_of_what_is_present() -> None:
    numeric = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
    table = MixedTable(numeric, np.zeros((3, 1), dtype=np.intp), (1,))
    np.testing.assert_allclose(units(table), [1.0, 1.0])


def test_the_interval_is_wilsons() -> None:
    for count, total in ((0, 10), (3, 40), (40, 40)):
        expected = stats.binomtest(count, total).proportion_ci(method="wilson")
        assert ReappearanceShare(count, total).interval == pytest.approx(
            (expected.low, expected.high), abs=1e-12
        )


def test_misuse_is_a_value_error() -> None:
    table, none = population(3, 9), population(0, 9)
    for records, released in ((none, table), (table, none)):
        with pytest.raises(ValueError, match="empty"):
            nearest_distances(records, released, deviation=np.ones(2))
