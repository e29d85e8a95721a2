"""The smoother finds what neighbours give away in a sorted table, and nothing in one in random order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.numerics.attacks.releases.findings import Attacker
from app.numerics.attacks.releases.neighbours import _mean_around, neighbours
from app.numerics.attacks.releases.promise import attacked_release
from app.numerics.attacks.releases.released_rows import ReleasedRows
from tests.numerics.attacks.schemes import Matrix, new_mixed_copy, new_shapes, numeric_copy

EIGHT_RUNS = np.repeat(np.arange(8), 500)


def copied(table: Matrix, rng: np.random.Generator, variance: float = 1.0) -> ReleasedRows:
    rows, _ = numeric_copy([table], new_shapes([table]), variance, rng)
    return replace(rows, runs=EIGHT_RUNS)


def test_a_sorted_column_is_broken_by_its_neighbours_and_the_other_is_not() -> None:
    """The mean of 25 of them has a 25th of the noise: 0.05 of 0.5, and wider means less."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(4_000, 2))
    table[:, 0].sort()
    sorted_column, other = neighbours(copied(table, rng), 0.5, rng)
    assert sorted_column.broken
    assert sorted_column.left < 0.06
    assert other.holds
    assert other.left == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("variance", [0.25, 1.0, 4.0])
def test_rows_in_random_order_are_no_alarm(variance: float) -> None:
    promised = variance / (1 + variance)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = rng.normal(size=(4_000, 3))
        table[rng.random(table.shape) < 0.05] = np.nan
        for one in neighbours(copied(table, rng, variance), promised, rng):
            assert one.holds, (seed, one)


def test_categories_that_stand_together_are_found_too() -> None:
    rng = np.random.default_rng(2)
    numbers = rng.normal(size=(4_000, 1))
    mixed = rng.integers(0, 4, (4_000, 1)).astype(np.int32)
    for codes, holds in ((np.sort(mixed, axis=0), False), (mixed, True)):
        rows = replace(new_mixed_copy(numbers, codes, 1.0, rng), runs=EIGHT_RUNS)
        found = neighbours(rows, 0.5, rng)[1:]
        assert len(found) == 3
        assert all(one.holds is holds and one.broken is not holds for one in found)


def test_neighbours_are_of_the_same_run_and_never_the_row_itself() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    runs = np.array([0, 0, 0, 3, 3, 3, 5])
    found = _mean_around(values, runs, 3)
    assert found.tolist() == [2.0, 2.5, 2.0, 16.0, 20.0, 16.0, 0.0]


def test_it_is_sent_only_where_rows_are_known_to_be_neighbours() -> None:
    rng = np.random.default_rng(4)
    rows = copied(np.sort(rng.normal(size=(4_000, 1)), axis=0), rng)
    assert Attacker.NEIGHBOURS in {one.attacker for one in attacked_release(rows, 0.5, rng)}
    assert neighbours(replace(rows, runs=None), 0.5, rng) == []
    # Runs of a few rows are not smoothed: the mean of all others says what the row itself does.
    assert neighbours(replace(rows, runs=np.arange(4_000) // 19), 0.5, rng) == []
