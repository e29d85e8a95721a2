"""Categories, missing cells and types survive the way through numbers and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from app.errors import InvalidTable
from app.numerics.synthesis.columns.latent import augmented, category_orders
from app.numerics.synthesis.methods import METHODS
from app.numerics.synthesis.mixed import LatentRule, enforced, rule_of, synthesised
from app.numerics.tables import MixedTable
from app.numerics.utility.reappearance import units
from tests.numerics.utility.reappearance_rates import reappearance


def people(n: int = 4000, seed: int = 1, *, missing: bool = False) -> MixedTable:
    """Age, income, working (two categories) and region (four, in no order of their numbers)."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=n)
    age = np.round(20 + 60 * rng.random(n))
    income = np.round(np.exp(0.6 * skill + 0.01 * age), 2)
    working = (skill + rng.normal(size=n) > 0).astype(np.intp)
    bins = np.digitize(skill + 0.5 * rng.normal(size=n), [-1, 0, 1])
    region = np.array([2, 0, 3, 1])[bins]
    numeric = np.column_stack([age, income])
    codes = np.column_stack([working, region])
    if missing:
        unknown = rng.random(n) < np.where(skill > 0, 0.3, 0.05)
        numeric[unknown, 1] = np.nan
        codes[unknown & (rng.random(n) < 0.5), 0] = -1
        codes[rng.random(n) < 0.1, 1] = -1
    return MixedTable(numeric, codes, (2, 4))


def explained(numbers: np.ndarray, codes: np.ndarray) -> float:
    """The correlation ratio: the share of variance between categories."""
    means = {code: numbers[codes == code].mean() for code in np.unique(codes)}
    return float(np.var([means[code] for code in codes]) / np.var(numbers))


def agreement(first: np.ndarray, second: np.ndarray) -> float:
    """Cramér's V of two columns of codes."""
    counts = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(counts, (first, second), 1)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    chi_square = ((counts - expected) ** 2 / expected).sum()
    return float(np.sqrt(chi_square / counts.sum() / (min(counts.shape) - 1)))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_carries_a_mixed_table_with_its_types_and_bounds(name: str) -> None:
    table = people(missing=True)
    made = synthesised(table, METHODS[name], np.random.default_rng(2), rows=1500).table
    assert made.records == 1500
    age = made.numeric[:, 0]
    np.testing.assert_array_equal(age, np.round(age))
    assert np.nanmin(made.numeric[:, 1]) >= np.nanmin(table.numeric[:, 1])
    assert np.nanmax(made.numeric[:, 1]) <= np.nanmax(table.numeric[:, 1])
    present = made.numeric[~np.isnan(made.numeric[:, 1]), 1]
    np.testing.assert_array_equal(present, np.round(present, 2))
    assert set(np.unique(made.codes[:, 1])) == {-1, 0, 1, 2, 3}


@pytest.mark.parametrize("name", METHODS)
def test_shares_of_categories_come_out_to_one_record(name: str) -> None:
    table = people()
    made = synthesised(table, METHODS[name], np.random.default_rng(3), rows=1000).table
    for column in range(2):
        before = np.bincount(table.codes[:, column]) / 4
        after = np.bincount(made.codes[:, column])
        assert np.abs(after - before).max() <= 1


@pytest.mark.parametrize("name", ["primp", "hybrid"])
def test_association_with_numbers_and_between_categories_is_kept(name: str) -> None:
    table = people(20_000)
    made = synthesised(table, METHODS[name], np.random.default_rng(4)).table
    # Ranks: a method may bend the marginal of income, which is not what is asked here.
    income, made_income = (stats.rankdata(each.numeric[:, 1]) for each in (table, made))
    for column in range(2):
        before = explained(income, table.codes[:, column])
        after = explained(made_income, made.codes[:, column])
        assert after == pytest.approx(before, rel=0.2)
    assert agreement(*made.codes.T) == pytest.approx(agreement(*table.codes.T), rel=0.1)


def test_missing_patterns_return_at_their_rate_and_with_their_relation_to_values() -> None:
    table = people(20_000, missing=True)
    made = synthesised(table, METHODS["hybrid"], np.random.default_rng(5))
    assert made.missing_patterns == 6
    before, before_counts = np.unique(table.missing, axis=0, return_counts=True)
    after, after_counts = np.unique(made.table.missing, axis=0, return_counts=True)
    np.testing.assert_array_equal(after, before)
    assert np.abs(after_counts - before_counts).max() <= 1
    # Income is missing six times as often above the median of skill; working follows skill.
    for checked in (table, made.table):
        unknown = np.isnan(checked.numeric[:, 1])
        working = checked.codes[:, 0]
        share = [unknown[working == code].mean() for code in (0, 1)]
        assert share[1] > 1.4 * share[0]


@pytest.mark.parametrize("name", METHODS)
def test_a_value_that_many_share_keeps_its_share_and_its_relation(name: str) -> None:
    table = people(8000)
    working = table.codes[:, 0] == 1
    rng = np.random.default_rng(30)
    hours = np.where(working & (rng.random(8000) < 0.9), np.round(rng.normal(38, 6, 8000)), 0.0)
    wider = MixedTable(np.column_stack([table.numeric, hours]), table.codes, table.categories)
    made = synthesised(wider, METHODS[name], np.random.default_rng(31)).table
    idle = made.numeric[:, 2] == 0
    assert idle.mean() == pytest.approx((hours == 0).mean(), abs=0.01)
    assert idle[made.codes[:, 0] == 0].mean() > 0.75
    assert idle[made.codes[:, 0] == 1].mean() < 0.4
    assert np.median(made.numeric[~idle, 2]) == pytest.approx(38, abs=2)


def test_a_column_of_zeros_and_ones_stays_one() -> None:
    table = people()
    numeric = np.column_stack([table.numeric, table.codes[:, 0]])
    only = MixedTable(numeric, np.empty((4000, 0), dtype=np.intp), ())
    made = synthesised(only, METHODS["primp"], np.random.default_rng(32)).table
    assert set(np.unique(made.numeric[:, 2])) == {0.0, 1.0}
    assert made.numeric[:, 2].mean() == pytest.approx(numeric[:, 2].mean(), abs=0.001)


@pytest.mark.parametrize("name", ["primp", "hybrid"])
@pytest.mark.parametrize("added", ["gaps", "mass"])
def test_columns_added_on_the_way_do_not_make_a_single_column_safe(name: str, added: str) -> None:
    values = np.random.default_rng(35).exponential(size=(200, 1))
    values[::2] = np.nan if added == "gaps" else 0.0
    table = MixedTable(values, np.empty((200, 0), dtype=np.intp), ())
    with pytest.raises(InvalidTable) as refused:
        synthesised(table, METHODS[name], np.random.default_rng(36))
    assert refused.value.fields["rank"] == 1


def test_leakage_counts_the_components_of_released_columns_only() -> None:
    made = synthesised(people(missing=True), METHODS["primp"], np.random.default_rng(37))
    assert made.outcome.separation is not None
    assert (made.outcome.separation.permuted, made.rank, made.permuted) == (5, 4, 4)
    assert synthesised(people(), METHODS["normal"], np.random.default_rng(38)).permuted is None


def test_numbers_that_are_mostly_missing_keep_their_spread() -> None:
    rng = np.random.default_rng(33)
    numeric = rng.normal(50, 10, size=(6000, 2))
    numeric[rng.random(6000) < 0.9, 1] = np.nan
    table = MixedTable(numeric, np.empty((6000, 0), dtype=np.intp), ())
    made = synthesised(table, METHODS["normal"], np.random.default_rng(34), enforce=False).table
    assert np.nanstd(made.numeric[:, 1]) == pytest.approx(10, rel=0.1)


def test_a_table_of_categories_alone_is_carried() -> None:
    table = people()
    only = MixedTable(np.empty((4000, 0)), table.codes, table.categories)
    made = synthesised(only, METHODS["hybrid"], np.random.default_rng(6)).table
    assert made.numeric.shape == (4000, 0)
    assert agreement(*made.codes.T) == pytest.approx(agreement(*table.codes.T), rel=0.15)


def test_numbers_alone_go_through_the_method_as_they_are() -> None:
    table = people()
    only = MixedTable(table.numeric, np.empty((4000, 0), dtype=np.intp), ())
    made = synthesised(only, METHODS["hybrid"], np.random.default_rng(7), enforce=False).table
    direct = METHODS["hybrid"](table.numeric, np.random.default_rng(7)).values
    np.testing.assert_array_equal(made.numeric, direct)


def test_without_enforcement_the_hybrid_keeps_the_covariance_of_numbers_beside_categories() -> None:
    table = people()
    made = synthesised(table, METHODS["hybrid"], np.random.default_rng(8), enforce=False).table
    np.testing.assert_allclose(np.cov(made.numeric.T), np.cov(table.numeric.T), rtol=1e-10)


def test_a_column_of_one_category_is_constant_and_adds_no_direction() -> None:
    numeric = np.arange(50.0)[:, None]
    table = MixedTable(numeric, np.zeros((50, 1), dtype=np.intp), (1,))
    made = synthesised(table, METHODS["normal"], np.random.default_rng(9))
    assert made.outcome.rank == 1
    np.testing.assert_array_equal(made.table.codes, 0)
    with pytest.raises(InvalidTable):
        synthesised(table, METHODS["primp"], np.random.default_rng(9))


def test_a_number_that_is_constant_where_present_stays_so() -> None:
    table = people()
    constant = np.where(np.arange(4000) % 3 == 0, np.nan, 5.0)
    wider = MixedTable(np.column_stack([table.numeric, constant]), table.codes, table.categories)
    made = synthesised(wider, METHODS["primp"], np.random.default_rng(10)).table
    column = made.numeric[:, 2]
    assert np.isnan(column).sum() == pytest.approx(4000 / 3, abs=2)
    np.testing.assert_array_equal(column[~np.isnan(column)], 5.0)


def test_a_column_without_any_value_is_refused() -> None:
    table = MixedTable(np.full((5, 1), np.nan), np.zeros((5, 1), dtype=np.intp), (1,))
    with pytest.raises(InvalidTable):
        synthesised(table, METHODS["normal"], np.random.default_rng(1))


def test_categories_are_ordered_by_their_association() -> None:
    order = category_orders(people(), np.random.default_rng(11))[1].tolist()
    assert order in ([2, 0, 3, 1], [1, 3, 0, 2])


def test_drawn_latent_values_have_the_correlation_that_made_the_categories() -> None:
    rng = np.random.default_rng(12)
    x = rng.normal(size=20_000)
    z = 0.8 * x + 0.6 * rng.normal(size=20_000)
    low = np.where(z < 0, -np.inf, 0.0)
    high = np.where(z < 0, 0.0, np.inf)
    latent = augmented(np.column_stack([x, low]), np.column_stack([x, high]), rng)
    np.testing.assert_array_equal(latent[:, 0], x)
    assert (np.sign(latent[:, 1]) == np.sign(z)).all()
    found = np.corrcoef(latent[:, 0], latent[:, 1])
    assert found[0, 1] == pytest.approx(0.8, abs=0.02)
    anywhere = np.abs(rng.normal(size=20_000)) * np.sign(z)
    assert np.corrcoef(x, anywhere)[0, 1] < 0.7


def test_a_long_table_takes_its_covariance_from_a_part() -> None:
    rng = np.random.default_rng(13)
    x = rng.normal(size=70_000)
    z = 0.5 * x + np.sqrt(0.75) * rng.normal(size=70_000)
    low, high = np.where(z < 1, -np.inf, 1.0), np.where(z < 1, 1.0, np.inf)
    latent = augmented(np.column_stack([x, low]), np.column_stack([x, high]), rng)
    found = np.corrcoef(latent[:, 0], latent[:, 1])
    assert found[0, 1] == pytest.approx(0.5, abs=0.03)


def test_mixed_synthesis_leaks_no_more_than_fresh_records_do() -> None:
    everyone = people(3000, seed=20)
    half = np.arange(1500)
    train, holdout = everyone.taken(half), everyone.taken(half + 1500)
    made = synthesised(train, METHODS["primp"], np.random.default_rng(14)).table
    deviation = units(train)
    attack = reappearance(train, made, deviation=deviation, distance=0.05).within_distance
    control = reappearance(holdout, made, deviation=deviation, distance=0.05).within_distance
    assert attack.interval[0] < control.interval[1]


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([1.0, 2.0, -300.0], 0),
        ([0.1, 0.2, 5.0], 1),
        ([0.25, 1e6], 2),
        ([1 / 3, 2.0], None),
        ([1e15, 2e15], 0),
        ([1e-9, 2e-9], 9),
    ],
)
def test_the_fewest_decimals_that_fit_are_found(values: list[float], decimals: int | None) -> None:
    assert rule_of(np.array([*values, np.nan])).decimals == decimals


def test_a_single_value_late_in_the_column_counts() -> None:
    assert rule_of(np.append(np.ones(500), 0.5)).decimals == 1


def test_values_are_rounded_and_kept_within_bounds() -> None:
    rule = LatentRule(0.0, 10.0, 1)
    np.testing.assert_array_equal(
        enforced(np.array([-3.0, 0.04, 5.55, 9.96, 99.0]), rule), [0.0, 0.0, 5.6, 10.0, 10.0]
    )


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30),
    st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30),
)
def test_whatever_is_enforced_fits_the_rule_and_originals_stay_as_they_are(
    original: list[float], synthetic: list[float]
) -> None:
    rule = rule_of(np.array(original))
    np.testing.assert_array_equal(enforced(np.array(original), rule), original)
    once = enforced(np.array(synthetic), rule)
    assert once.min() >= rule.least
    assert once.max() <= rule.most
    np.testing.assert_array_equal(enforced(once, rule), once)


def test_a_column_without_values_has_no_rule() -> None:
    with pytest.raises(ValueError, match="without values"):
        rule_of(np.array([np.nan]))
