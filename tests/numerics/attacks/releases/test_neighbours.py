"""Means of neighbours find what a sorted table gives away, and nothing in one in random order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.numerics.attacks.releases.findings import Finding, Verdict
from app.numerics.attacks.releases.neighbours import _mean_around, neighbours
from app.numerics.attacks.releases.released_rows import ReleasedRows, targets
from tests.numerics.attacks.schemes import released

EIGHT_RUNS = np.repeat(np.arange(8), 500)


def smoothed(rows: ReleasedRows, promised: float = 0.5) -> dict[str, Finding]:
    rows = replace(rows, runs=EIGHT_RUNS)
    wanted = targets(rows, np.random.default_rng(1))
    return {one.target: one for one in neighbours(rows, wanted, promised)}


def test_a_sorted_column_is_given_away_by_its_neighbours_and_the_other_is_not() -> None:
    """The mean of 25 of them has a 25th of the noise: 0.05 of 0.5, and wider means less."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(4_000, 2))
    table[:, 0].sort()
    for draws in (1, 2):
        found = smoothed(released(table, None, 1.0, rng, draws=draws))
        assert found["x0"].verdict is Verdict.ATTENTION
        assert found["x0"].left < 0.06
        assert found["x1"].verdict is Verdict.OK
        assert found["x1"].left == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("variance", [0.25, 1.0, 4.0])
def test_rows_in_random_order_are_no_alarm(variance: float) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        table = rng.normal(size=(4_000, 3))
        table[rng.random(table.shape) < 0.05] = np.nan
        for one in smoothed(
            released(table, None, variance, rng), variance / (1 + variance)
        ).values():
            assert one.verdict is Verdict.OK, (seed, one)


def test_categories_that_stand_together_are_found_too() -> None:
    rng = np.random.default_rng(2)
    numbers = rng.normal(size=(4_000, 1))
    mixed = rng.integers(0, 4, (4_000, 1)).astype(np.int32)
    for codes, verdict in ((np.sort(mixed, axis=0), Verdict.ATTENTION), (mixed, Verdict.OK)):
        found = smoothed(released(numbers, codes, 1.0, rng))
        assert {found[f"c0 = value {code}"].verdict for code in range(4)} == {verdict}


def test_neighbours_are_of_the_same_run_and_never_the_row_itself() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    runs = np.array([0, 0, 0, 3, 3, 3, 5])
    found = _mean_around(values, runs, 3)
    assert found.tolist() == [2.0, 2.5, 2.0, 16.0, 20.0, 16.0, 0.0]


def test_rows_picked_here_and_there_are_no_neighbours() -> None:
    rng = np.random.default_rng(4)
    rows = released(np.sort(rng.normal(size=(4_000, 1)), axis=0), None, 1.0, rng)
    wanted = targets(rows, rng)
    assert neighbours(rows, wanted, 0.5)
    scattered = rows.some(np.flatnonzero(rng.random(4_000) < 0.5))
    assert neighbours(scattered, targets(scattered, rng), 0.5) == []
    together = rows.some(np.arange(1_000, 2_000))
    assert neighbours(together, targets(together, rng), 0.5)
