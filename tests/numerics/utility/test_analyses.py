"""Usual analyses on a copy beside the original: biases, gaps of correlations, distances of tables."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.tables import MixedTable
from app.numerics.utility.analyses import (
    correlation_gaps,
    moved,
    pair_distances,
    table_distances,
)


def numbers(*columns: list[float]) -> MixedTable:
    values = np.array(columns).T
    return MixedTable(values, np.empty((len(values), 0), dtype=np.intp), ())


def categories(*columns: list[int], sizes: tuple[int, ...]) -> MixedTable:
    codes = np.array(columns, dtype=np.intp).T
    return MixedTable(np.empty((len(codes), 0)), codes, sizes)


def test_a_shift_is_a_bias_and_noise_is_none() -> None:
    X = np.array([1.0, 2.0, 3.0, 4.0, np.nan])
    found = moved(X, X + 2)
    assert found is not None
    assert (found.mean, found.bias, found.noise, found.values) == (2.5, 2.0, 0.0, 4)
    assert found.deviation == found.deviation_in_copy
    assert found.largest_bias(1_000_000) == 2.0


def test_the_largest_bias_holds_for_other_draws_and_is_not_far_above() -> None:
    """Of 400 draws about 95 % stay below what one of them says, at any number of rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(10, 1, 2_000)
    for rows in (500, 2_000, 8_000):
        said = moved(X, X + rng.normal(0, 3, len(X)))
        assert said is not None
        biases = np.abs(rng.normal(0, 3, (400, rows)).mean(axis=1))
        within = float((biases <= said.largest_bias(rows)).mean())
        assert 0.9 < within < 0.995, rows


def test_a_column_without_spread_is_left_out() -> None:
    flat = np.ones(5)
    assert moved(flat, flat + 1) is None
    assert moved(np.array([1.0, np.nan]), np.array([1.0, np.nan])) is None


def test_the_largest_gap_names_its_pair() -> None:
    rng = np.random.default_rng(2)
    a, b, c = rng.normal(size=(3, 500))
    before = numbers(a.tolist(), (a + b).tolist(), c.tolist())
    after = numbers(a.tolist(), b.tolist(), c.tolist())
    found = correlation_gaps(before, after)
    assert found is not None
    assert found.between == (0, 1)
    wanted = abs(np.corrcoef(a, a + b)[0, 1] - np.corrcoef(a, b)[0, 1])
    assert found.largest == pytest.approx(wanted)
    assert found.pairs == 3
    assert correlation_gaps(numbers([1.0, 2.0]), numbers([1.0, 2.0])) is None


def test_tables_of_one_and_of_two_categories() -> None:
    before = categories([0, 0, 1, 1], [0, 1, 0, 1], sizes=(2, 2))
    after = categories([0, 0, 1, 1], [0, 0, 1, 1], sizes=(2, 2))
    assert table_distances(before, after) == [0.0, 0.0]
    found = pair_distances(before, after)
    assert found is not None
    assert found.largest == pytest.approx(0.5)
    same = pair_distances(before, before)
    assert same is not None
    assert same.largest == 0
