"""Mended ranks follow what mixing lost, among enough originals, and put no record together again."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.synthesis.methods import hybrid
from app.numerics.synthesis.stratified.rank_repair import repairable, repaired_ranks
from app.numerics.synthesis.stratified.recipe import MOST_COMPARED, drawn, recipe
from app.numerics.tables import MixedTable


def numbers(values: NDArray[np.float64]) -> MixedTable:
    return MixedTable(values, np.empty((len(values), 0), dtype=np.intp), ())


def bent(n: int, seed: int = 1) -> NDArray[np.float64]:
    """Four columns that all follow from the first but for some noise, none of them linearly."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    others = np.column_stack([np.square(x), np.abs(x), np.sin(3 * x)])
    return np.column_stack([x, others + 0.1 * rng.normal(size=(n, 3))])


def test_a_column_follows_the_others_where_they_bend() -> None:
    rng = np.random.default_rng(1)
    original = bent(1000)
    synthetic = original[rng.integers(1000, size=1000)]
    rng.shuffle(synthetic[:, 1])
    made = repaired_ranks(original, synthetic, np.array([1]), 20, rng)
    square = np.square(made[:, 0])
    assert abs(np.corrcoef(square, synthetic[:, 1])[0, 1]) < 0.1
    assert np.corrcoef(square, made[:, 1])[0, 1] > 0.9
    np.testing.assert_array_equal(np.sort(made[:, 1]), np.sort(synthetic[:, 1]))
    np.testing.assert_array_equal(made[:, [0, 2, 3]], synthetic[:, [0, 2, 3]])


@pytest.mark.parametrize(("least", "apart"), [(10, True), (20, False)])
def test_fewer_originals_than_a_leaf_must_hold_are_not_told_apart(least: int, apart: bool) -> None:
    rng = np.random.default_rng(2)
    few = np.arange(300) < 15
    original = np.column_stack([few, few * 100 + rng.normal(size=300)])
    synthetic = original.copy()
    rng.shuffle(synthetic[:, 1])
    made = repaired_ranks(original, synthetic, np.array([1]), least, rng)
    assert (made[few, 1] > 50).all() == apart


def test_records_of_one_leaf_keep_their_order() -> None:
    rng = np.random.default_rng(3)
    original = np.column_stack([np.ones(60), rng.normal(size=60)])
    synthetic = rng.normal(size=(60, 2))
    made = repaired_ranks(original, synthetic, np.array([1]), 30, rng)
    np.testing.assert_array_equal(made, synthetic)


def test_too_few_originals_for_two_leaves_mend_nothing() -> None:
    rng = np.random.default_rng(8)
    original, synthetic = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    np.testing.assert_array_equal(
        repaired_ranks(original, synthetic, np.array([1]), 31, rng), synthetic
    )


def test_missing_cells_stay_missing_and_are_no_value() -> None:
    rng = np.random.default_rng(4)
    original = bent(400)
    original[:80, 1] = np.nan
    synthetic = original[::-1].copy()
    made = repaired_ranks(original, synthetic, np.arange(4), 20, rng)
    np.testing.assert_array_equal(np.isnan(made), np.isnan(synthetic))


def test_columns_that_do_not_vary_or_fill_no_two_leaves_are_left_as_they_are() -> None:
    rng = np.random.default_rng(5)
    values = np.column_stack([rng.normal(size=(60, 3)), np.full(60, 7.0), rng.normal(size=60)])
    values[:30, 4] = np.nan
    np.testing.assert_array_equal(repairable(values, np.arange(5), 20), [0, 1, 2])
    np.testing.assert_array_equal(repairable(values, np.array([1, 3]), 20), [1])
    np.testing.assert_array_equal(repairable(values, np.arange(5), 31), [])


def test_what_is_left_beside_two_columns_must_tell_records_apart() -> None:
    rng = np.random.default_rng(9)
    two = rng.normal(size=(400, 2))
    for several in (2, 10, 15, 30):
        values = np.column_stack([two, np.arange(400) % several])
        assert repairable(values, np.arange(3), 20).size == (3 if several > 20 else 0)
    rare = np.column_stack(
        [two, np.maximum(np.arange(400) - 340, 0)]
    )  # 60 values, one of them in most
    assert repairable(rare, np.arange(3), 20).size == 0


def test_small_tables_are_mended_among_half_of_what_a_stratum_holds() -> None:
    rng = np.random.default_rng(6)
    for least, leaf in ((25, 20), (40, 20), (100, 50)):
        made = recipe(numbers(bent(500)), hybrid, rng, least=least)
        assert made.leaf == leaf
        np.testing.assert_array_equal(made.repaired, np.arange(4))
    large = recipe(numbers(bent(MOST_COMPARED + 1)), hybrid, rng, least=400)
    assert large.repaired.size == 0


@pytest.mark.parametrize("flags", [0, 2])
def test_two_columns_that_are_all_of_a_record_are_not_mended(flags: int) -> None:
    """Mended one by the other, up to half of the 400 records would return in the ranks of all columns."""
    rng = np.random.default_rng(7)
    original = np.column_stack([rng.normal(size=(400, 2)), rng.integers(0, 2, (400, flags))])
    made = recipe(numbers(original), hybrid, rng, least=40)
    assert made.repaired.size == 0

    def ranked(values: NDArray[np.float64]) -> set[tuple[float, ...]]:
        ranks = np.argsort(np.argsort(values[:, :2], axis=0), axis=0)
        return set(map(tuple, np.column_stack([ranks, values[:, 2:]])))

    returned = [len(ranked(each.numeric) & ranked(original)) for each in drawn(made, 400 * 20, rng)]
    assert np.mean(returned) < 5


def test_nothing_is_mended_where_more_records_would_return() -> None:
    """The third column tells records apart, and follows from the second: of 400 records 14 would return, 1 without."""
    rng = np.random.default_rng(10)
    two = rng.normal(size=(400, 2))
    original = np.column_stack([two, np.argsort(np.argsort(two[:, 1])) // 16])
    assert repairable(original, np.arange(3), 20).size == 3
    assert recipe(numbers(original), hybrid, rng, least=40).repaired.size == 0
