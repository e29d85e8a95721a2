"""The stratified synthesis keeps what it says exactly, mends what mixing loses, and leaks no more than said."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from app.errors import InvalidTable
from app.numerics.synthesis.columns.scores import scores_of_ranks
from app.numerics.synthesis.leakage import leakage
from app.numerics.synthesis.methods import METHODS, hybrid, primp
from app.numerics.synthesis.mixed import synthesised
from app.numerics.synthesis.stratified.recipe import STRATUM_PASSES, Recipe, drawn, recipe
from app.numerics.tables import MixedTable
from app.numerics.utility.quality import kolmogorov_smirnov
from tests.numerics.synthesis.test_mixed import explained, people


def made_of(table: MixedTable, seed: int = 1, *, least: int = 40) -> tuple[Recipe, MixedTable]:
    rng = np.random.default_rng(seed)
    made = recipe(table, hybrid, rng, least=least)
    return made, next(drawn(made, table.records, rng))


def bent(n: int = 1500, seed: int = 1) -> MixedTable:
    """A ring, a heavy tail, and which of three arcs of the ring a record lies on: nothing is linear."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = 1 + 0.05 * rng.normal(size=n)
    ring = np.round(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), 2)
    tail = np.exp(2 * rng.normal(size=n))
    return MixedTable(np.column_stack([ring, tail]), (angle[:, None] // 2.1).astype(np.intp), (3,))


def family(n: int = 2000, seed: int = 1) -> MixedTable:
    """Money with a total, city with its country, and a role that follows sex and age."""
    rng = np.random.default_rng(seed)
    wages, rent = np.round(rng.exponential(900, n), 2), np.round(rng.exponential(200, n), 2)
    age = np.round(rng.uniform(1, 90, n))
    sex = rng.integers(0, 2, n)
    role = np.where(age < 20, 0, 1 + sex)
    city = rng.integers(0, 12, n)
    numeric = np.column_stack([age, wages, rent, np.round(wages + rent, 2)])
    return MixedTable(numeric, np.column_stack([sex, role, city, city // 4]), (2, 3, 12, 3))


def test_what_is_not_linear_is_kept_better_than_by_the_hybrid() -> None:
    table = bent()
    made, synthetic = made_of(table)
    assert len(made.strata) > 1
    published = synthesised(table, METHODS["hybrid"], np.random.default_rng(1)).table

    def within(each: MixedTable) -> float:
        """The share of records inside the ring, where no original is."""
        return float((np.hypot(each.numeric[:, 0], each.numeric[:, 1]) < 0.7).mean())

    assert within(table) == 0
    assert within(published) > 0.15
    assert within(synthetic) < 0.05


def test_marginals_return_within_one_in_n_and_ties_and_categories_exactly() -> None:
    table = bent()
    made, synthetic = made_of(table)
    assert len(made.strata) > 1
    for before, after in zip(table.numeric.T, synthetic.numeric.T, strict=True):
        assert kolmogorov_smirnov(before, after) < 1.01 / 1500
    plain = replace(made, redrawn=np.array([], dtype=np.intp))
    whole = next(drawn(plain, 1500, np.random.default_rng(5)))
    np.testing.assert_array_equal(np.sort(whole.codes, axis=0), np.sort(table.codes, axis=0))
    ages = people(1500)
    np.testing.assert_array_equal(
        np.sort(made_of(ages)[1].numeric[:, 0]), np.sort(ages.numeric[:, 0])
    )


def test_identities_hold_to_rounding_and_dependencies_without_exception() -> None:
    table = family()
    made, synthetic = made_of(table)
    assert [each.total for each in made.table.identities] == [3]
    assert (6, 7) in [(each.by, each.determined) for each in made.table.dependencies]
    np.testing.assert_array_equal(
        np.round(synthetic.numeric[:, 1] + synthetic.numeric[:, 2], 2), synthetic.numeric[:, 3]
    )
    np.testing.assert_array_equal(synthetic.codes[:, 2] // 4, synthetic.codes[:, 3])


def test_roles_that_two_columns_decide_hardly_contradict_them() -> None:
    """Whether roles are drawn again is found by rows that are told apart, and may by chance be found worse."""
    table, contradicting = family(), []
    for seed in (1, 2):
        made, synthetic = made_of(table, seed)
        age, sex, role = synthetic.numeric[:, 0], synthetic.codes[:, 0], synthetic.codes[:, 1]
        if made.redrawn.size:
            contradicting.append((role != np.where(age < 20, 0, 1 + sex)).mean())
    assert contradicting
    assert max(contradicting) < 0.02


def test_an_identity_that_fails_once_is_not_enforced() -> None:
    table = family(300)
    table.numeric[11, 3] += 5
    assert made_of(table)[0].table.identities == ()


def test_missing_patterns_return_with_their_relation_to_the_values() -> None:
    table = people(3000, missing=True)
    _, synthetic = made_of(table)
    before, after = (each.missing.mean(axis=0) for each in (table, synthetic))
    np.testing.assert_allclose(after, before, atol=0.002)
    gone = np.isnan(table.numeric[:, 1])
    lost = np.isnan(synthetic.numeric[:, 1])
    relation = [
        explained(each.codes[:, 1].astype(float), unknown.astype(int))
        for each, unknown in ((table, gone), (synthetic, lost))
    ]
    assert relation[1] == pytest.approx(relation[0], abs=0.03)


def test_any_number_of_rows_comes_in_tables_of_at_most_n() -> None:
    table = people(400)
    rng = np.random.default_rng(1)
    made = recipe(table, hybrid, rng, least=40)
    for rows, sizes in ((150, [150]), (400, [400]), (1000, [400, 400, 200])):
        found = list(drawn(made, rows, np.random.default_rng(2)))
        assert [each.records for each in found] == sizes
        ages = np.concatenate([each.numeric[:, 0] for each in found])
        assert kolmogorov_smirnov(table.numeric[:, 0], ages) < 0.02
    first, second, _ = drawn(made, 1000, np.random.default_rng(2))
    assert not np.array_equal(first.numeric, second.numeric)


def test_memory_does_not_grow_with_the_rows() -> None:
    rng = np.random.default_rng(1)
    made = recipe(people(300), hybrid, rng, least=300)
    peaks = []
    for rows in (600, 15_000):
        tracemalloc.start()
        for _ in drawn(made, rows, rng):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_the_same_seed_gives_the_same_rows() -> None:
    table = people(300, missing=True)
    first, again = (made_of(table, 9)[1] for _ in range(2))
    np.testing.assert_array_equal(first.numeric, again.numeric)
    np.testing.assert_array_equal(first.codes, again.codes)


def test_where_trees_find_no_difference_there_is_one_stratum() -> None:
    rng = np.random.default_rng(3)
    normal = rng.normal(size=(600, 3)) @ rng.normal(size=(3, 3))
    made, _ = made_of(MixedTable(normal, np.empty((600, 0), dtype=np.intp), ()))
    assert len(made.strata) == 1
    assert made.difference < 0.55


def test_every_stratum_holds_the_originals_it_must_and_varies_in_two_directions() -> None:
    for least in (40, 100):
        made, _ = made_of(bent(), least=least)
        assert min(stratum.records.size for stratum in made.strata) >= least
        assert min(stratum.permuted for stratum in made.strata) >= 2
        together = np.sort(np.concatenate([stratum.records for stratum in made.strata]))
        np.testing.assert_array_equal(together, np.arange(1500))


@pytest.mark.parametrize("components", [2, 3])
def test_a_stratum_leaks_no_more_than_the_published_risk(components: int) -> None:
    """Coupled scores of a stratum of L = 40 records that are those of an original record."""
    rng = np.random.default_rng(4)
    scores = scores_of_ranks(rng.exponential(size=(40, components)))
    trials = 400
    leaked = np.empty(trials)
    for trial in range(trials):
        coupled = primp(scores, rng, passes=STRATUM_PASSES).values
        leaked[trial] = (cdist(coupled, scores).min(axis=1) < 1e-9).sum()
    expected = leakage(40, components)
    assert leaked.mean() <= expected.mean + 4 * np.sqrt(expected.variance / trials)
    assert (leaked > 0).mean() <= expected.risk + 4 * np.sqrt(expected.risk / trials)
    assert components > 2 or leaked.mean() > 0.5  # the count does see leaks


def test_constant_columns_stay_constant() -> None:
    table = bent(200)
    constant = MixedTable(
        np.column_stack([table.numeric, np.full(200, 7.0)]), np.zeros((200, 1), dtype=np.intp), (1,)
    )
    synthetic = made_of(constant)[1]
    assert (synthetic.numeric[:, 3] == 7.0).all()
    assert (synthetic.codes == 0).all()


def test_more_columns_than_rows_are_one_stratum_at_their_rank() -> None:
    values = np.random.default_rng(5).normal(size=(12, 20))
    made, synthetic = made_of(MixedTable(values, np.empty((12, 0), dtype=np.intp), ()), least=60)
    assert len(made.strata) == 1
    assert made.strata[0].permuted == 11
    assert synthetic.records == 12


def test_a_category_in_every_row_different_returns_once_each() -> None:
    rng = np.random.default_rng(6)
    table = MixedTable(rng.normal(size=(80, 2)), rng.permutation(80)[:, None], (80,))
    made, _ = made_of(table)
    plain = replace(made, redrawn=np.array([], dtype=np.intp))
    synthetic = next(drawn(plain, 80, rng))
    np.testing.assert_array_equal(np.sort(synthetic.codes[:, 0]), np.arange(80))
    assert made.table.dependencies == ()


@pytest.mark.parametrize(
    ("numeric", "said"),
    [
        (np.array([[1.0, 2.0]]), "two records"),
        (np.ones((30, 2)), "one direction"),
        (np.column_stack([np.arange(30.0), np.exp(np.arange(30.0))]), "one direction"),
        (np.full((30, 2), np.nan), "without any value"),
    ],
)
def test_what_would_release_records_or_has_nothing_to_vary_is_refused(
    numeric: np.ndarray, said: str
) -> None:
    table = MixedTable(numeric, np.empty((len(numeric), 0), dtype=np.intp), ())
    with pytest.raises(InvalidTable, match=said):
        made_of(table)
