"""Columns that repeat together return together; what one record alone combines does not."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.synthesis.methods import hybrid
from app.numerics.synthesis.stratified.bundles import bundled
from app.numerics.synthesis.stratified.recipe import drawn, recipe
from app.numerics.tables import MixedTable

TOWN = [1, 2, 3]


def towns(n: int = 600, seed: int = 1, *, places: int = 40, singles: int = 0) -> MixedTable:
    """Records of some towns: age, three facts of the town, income; some live where nobody else does."""
    rng = np.random.default_rng(seed)
    facts = np.round(np.column_stack([rng.normal(size=(places, 2)), rng.integers(0, 9, places)]), 4)
    lived = facts[rng.integers(0, places, n)]
    # Strangers to every town, though each of their values is one that some town has.
    lived[:singles] = np.column_stack([rng.choice(column, singles) for column in facts.T])
    income = rng.exponential(900, n) * np.exp(0.3 * lived[:, 0])
    return MixedTable(
        np.column_stack([rng.uniform(18, 90, n), lived, income]),
        rng.integers(0, 2, (n, 1)),
        (2,),
    )


def combinations(table: MixedTable) -> set[tuple[float, ...]]:
    return {tuple(row) for row in table.numeric[:, TOWN].tolist()}


def test_columns_that_repeat_together_are_found_and_no_others() -> None:
    found = bundled(towns(), np.random.default_rng(1))
    assert [sorted(bundle.columns.tolist()) for bundle in found.bundles] == [TOWN]
    assert found.alone.tolist() == [0, 4]
    assert found.cells.categories == (2, len(combinations(towns())))
    facts = ", ".join("abcde"[column] for column in found.bundles[0].columns)
    assert found.names(["a", "b", "c", "d", "e", "f"]) == ["a", "e", "f", facts]


def test_a_rare_mark_that_multiplies_little_by_chance_does_not_join() -> None:
    table = towns()
    mark = np.zeros(table.records)
    mark[np.random.default_rng(4).permutation(table.records)[:6]] = 1
    marked = MixedTable(np.column_stack([table.numeric, mark]), table.codes, table.categories)
    found = bundled(marked, np.random.default_rng(1))
    assert [sorted(bundle.columns.tolist()) for bundle in found.bundles] == [TOWN]


def test_a_synthesis_has_no_combination_that_no_record_had() -> None:
    table = towns()
    rng = np.random.default_rng(2)
    synthetic = next(drawn(recipe(table, hybrid, rng, least=40), table.records, rng))
    assert combinations(synthetic) <= combinations(table)
    np.testing.assert_array_equal(
        np.sort(synthetic.numeric[:, TOWN], axis=0), np.sort(table.numeric[:, TOWN], axis=0)
    )
    assert synthetic.categories == table.categories


def test_tied_up_and_opened_again_a_table_is_what_it_was() -> None:
    table = towns()
    found = bundled(table, np.random.default_rng(1))
    opened = found.opened(found.cells)
    np.testing.assert_array_equal(opened.numeric, table.numeric)
    np.testing.assert_array_equal(opened.codes, table.codes)


def test_combinations_of_a_single_record_are_taken_apart_and_columns_keep_their_values() -> None:
    table = towns(1500, places=120, singles=20)
    found = bundled(table, np.random.default_rng(1))
    assert found.bundles
    opened = found.opened(found.cells)
    np.testing.assert_array_equal(np.sort(opened.numeric, axis=0), np.sort(table.numeric, axis=0))
    rows, counts = np.unique(table.numeric[:, TOWN], axis=0, return_counts=True)
    alone = {tuple(row) for row in rows[counts == 1].tolist()}
    assert len(alone) >= 18
    # In groups of five, three columns permuted: one in 25 is put together again by chance.
    assert len(alone & combinations(opened)) <= 3
    shared = {tuple(row) for row in rows[counts > 1].tolist()}
    assert shared <= combinations(opened)


def test_one_single_record_is_taken_apart_with_the_next_rarest() -> None:
    table = towns()
    table.numeric[0, TOWN] = table.numeric[[1, 2, 3], TOWN]
    counts = np.unique(table.numeric[:, TOWN], axis=0, return_counts=True)[1]
    assert (counts == 1).sum() == 1
    kept = [
        tuple(table.numeric[0, TOWN].tolist())
        in combinations((found := bundled(table, np.random.default_rng(seed))).opened(found.cells))
        for seed in range(20)
    ]
    assert np.mean(kept) < 0.5


@pytest.mark.parametrize("why", ["independent", "missing", "total", "nothing else"])
def test_columns_are_left_alone(why: str) -> None:
    table = towns()
    numeric = table.numeric.copy()
    rng = np.random.default_rng(3)
    if why == "independent":
        for column in TOWN:
            numeric[:, column] = rng.permutation(numeric[:, column])
    elif why == "missing":
        numeric[0, TOWN] = np.nan
    elif why == "total":  # an exact relation with a column outside must not be cut
        numeric[:, 4] = numeric[:, 0] + numeric[:, TOWN].sum(axis=1)
    else:
        numeric = numeric[:, [0, *TOWN]]
        table = MixedTable(numeric, np.zeros((600, 1), dtype=np.intp), (1,))
    changed = MixedTable(numeric, table.codes, table.categories)
    found = bundled(changed, np.random.default_rng(1))
    assert found.bundles == ()
    assert found.opened(changed) is changed
