"""Totals keep their distribution while their parts keep theirs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.numerics.synthesis.methods import hybrid
from app.numerics.synthesis.stratified.identities import MOST_APART, Identity, balanced
from app.numerics.synthesis.stratified.recipe import drawn, recipe
from app.numerics.tables import MixedTable
from app.numerics.utility.quality import kolmogorov_smirnov

INCOME = Identity(0, 5.0, ((1, 1.0), (2, -0.5)))


def incomes(n: int = 1500, seed: int = 1) -> NDArray[np.float64]:
    """A total, two parts of which the second falls as the first rises, and what has nothing to do with them."""
    rng = np.random.default_rng(seed)
    wages = np.round(rng.exponential(900, n))
    tax = np.round(np.maximum(1, 800 - 0.6 * wages) * rng.lognormal(0, 0.4, n))
    return np.column_stack([5 + wages - 0.5 * tax, wages, tax, np.round(rng.normal(50, 9, n))])


def test_parts_change_places_until_the_total_is_distributed_as_it_was() -> None:
    original = incomes()
    rng = np.random.default_rng(2)
    synthetic = rng.permuted(original, axis=0)
    apart = kolmogorov_smirnov(original[:, 0], INCOME.computed(synthetic))
    made = balanced(synthetic, original, (INCOME,), {})
    assert apart > 0.05
    assert kolmogorov_smirnov(original[:, 0], INCOME.computed(made)) <= MOST_APART
    np.testing.assert_array_equal(np.sort(made, axis=0), np.sort(synthetic, axis=0))
    np.testing.assert_array_equal(made[:, 3], synthetic[:, 3])


def test_columns_that_belong_to_a_part_go_where_it_goes() -> None:
    original = incomes()
    original[:, 3] = original[:, 1]
    synthetic = np.random.default_rng(3).permuted(original, axis=0)
    synthetic[:, 3] = synthetic[:, 1] + 7
    made = balanced(synthetic, original, (INCOME,), {1: (1, 3), 3: (1, 3)})
    assert (made[:, 1] != synthetic[:, 1]).any()
    np.testing.assert_array_equal(made[:, 3], made[:, 1] + 7)
    np.testing.assert_array_equal(np.sort(made, axis=0), np.sort(synthetic, axis=0))


def test_what_is_near_enough_stays_as_it_is() -> None:
    original = incomes()
    synthetic = original.copy()
    synthetic[:100, 1] = original[99::-1, 1]
    apart = kolmogorov_smirnov(original[:, 0], INCOME.computed(synthetic))
    assert 0 < apart <= MOST_APART
    np.testing.assert_array_equal(balanced(synthetic, original, (INCOME,), {}), synthetic)


def test_where_parts_cannot_make_a_total_it_ends_no_farther_from_the_original() -> None:
    """The second total is no sum of these parts, and going after it leads away from the first."""
    original = incomes(200)
    both = (INCOME, Identity(3, 0.0, ((2, 1.0), (1, 1.0))))
    synthetic = np.random.default_rng(2).permuted(original, axis=0)
    made = balanced(synthetic, original, both, {})
    before, after = (
        max(kolmogorov_smirnov(original[:, each.total], each.computed(of)) for each in both)
        for of in (synthetic, made)
    )
    assert MOST_APART < after <= before


def test_two_totals_with_a_common_part_are_both_kept() -> None:
    original = incomes()
    original[:, 3] = 2 * original[:, 2] + 7
    spare = np.random.default_rng(4).exponential(300, 1500)
    original = np.column_stack([original, spare, original[:, 2] + spare])
    both = (INCOME, Identity(5, 0.0, ((2, 1.0), (4, 1.0))))
    synthetic = np.random.default_rng(5).permuted(original, axis=0)
    made = balanced(synthetic, original, both, {})
    for each in both:
        assert kolmogorov_smirnov(original[:, each.total], each.computed(made)) <= 2 * MOST_APART


def test_a_synthesis_keeps_the_total_to_one_in_a_hundred_and_the_identity_to_rounding() -> None:
    """Three records of ten have nearly one sum, which mixing blurs: without moving parts the total is 2 % off."""
    rng = np.random.default_rng(1)
    hours = np.round(rng.exponential(900, 1500))
    spare = np.where(
        rng.random(1500) < 0.3, 3000 - hours + rng.normal(0, 100, 1500), rng.exponential(900, 1500)
    ).round()
    original = np.column_stack([hours + spare, hours, spare, rng.normal(50, 9, 1500).round()])
    table = MixedTable(original, np.empty((1500, 0), dtype=np.intp), ())
    made = recipe(table, hybrid, rng, least=40)
    assert len(made.table.identities) == 1
    for each in drawn(made, 3000, rng):
        np.testing.assert_array_equal(each.numeric[:, 0], each.numeric[:, 1] + each.numeric[:, 2])
        for before, after in zip(original.T, each.numeric.T, strict=True):
            assert kolmogorov_smirnov(before, after) <= MOST_APART


def test_records_that_do_not_show_a_part_take_no_part() -> None:
    original = incomes()
    original[::5, 1] = np.nan
    rng = np.random.default_rng(6)
    table = MixedTable(original, np.empty((1500, 0), dtype=np.intp), ())
    made = recipe(table, hybrid, rng, least=40)
    assert len(made.table.identities) == 1
    for each in drawn(made, 3000, rng):
        whole = each.numeric[~np.isnan(each.numeric).any(axis=1)]
        np.testing.assert_allclose(INCOME.computed(whole), whole[:, 0], atol=1e-9)
        np.testing.assert_array_equal(
            np.isnan(each.numeric).sum(axis=0), np.isnan(original).sum(axis=0)
        )
        assert kolmogorov_smirnov(original[:, 0], whole[:, 0]) <= 2 * MOST_APART
