"""Functional dependencies are found where records could have contradicted them, and not by chance."""

from __future__ import annotations

import numpy as np

from app.numerics.synthesis.stratified.dependencies import dependencies
from app.numerics.tables import MixedTable


def places(n: int = 1000, seed: int = 1) -> MixedTable:
    """Number of the school, then city, country of the city, and a colour that has nothing to do with it."""
    rng = np.random.default_rng(seed)
    city = rng.integers(0, 20, n)
    country = city % 4
    numeric = np.column_stack([10.0 * city, rng.normal(size=n)])
    return MixedTable(numeric, np.column_stack([country, city, rng.integers(0, 3, n)]), (4, 20, 3))


def test_what_a_city_determines_is_looked_up() -> None:
    table = places()
    found = dependencies(table)
    assert [(each.by, each.determined) for each in found] == [(3, 0), (3, 2)]
    city = table.codes[:, 1]
    np.testing.assert_array_equal(found[0].looked_up(city), table.numeric[:, 0])
    np.testing.assert_array_equal(found[1].looked_up(city), table.codes[:, 0])


def test_one_contradiction_is_enough() -> None:
    table = places()
    table.codes[5, 0] = (table.codes[5, 0] + 1) % 4
    assert [each.determined for each in dependencies(table)] == [0]


def test_missing_cells_contradict_nothing() -> None:
    table = places()
    table.codes[:30, 0] = -1
    table.codes[20:60, 1] = -1
    assert [each.determined for each in dependencies(table)] == [0, 2]


def test_a_category_of_one_record_each_determines_nothing() -> None:
    rng = np.random.default_rng(2)
    codes = np.column_stack([np.arange(100), rng.integers(0, 3, 100)])
    assert dependencies(MixedTable(np.empty((100, 0)), codes, (100, 3))) == ()


def test_of_two_names_for_the_same_one_stays() -> None:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 5, 200)
    table = MixedTable(np.empty((200, 0)), np.column_stack([first, 4 - first]), (5, 5))
    assert [(each.by, each.determined) for each in dependencies(table)] == [(0, 1)]


def test_a_column_that_hardly_varies_is_not_determined_by_chance() -> None:
    rng = np.random.default_rng(4)
    rare = np.zeros(300, dtype=np.intp)
    group = rng.integers(0, 30, 300)
    rare[group == 0] = 1
    table = MixedTable(np.empty((300, 0)), np.column_stack([group, rare]), (30, 2))
    few = table.taken(np.arange(60))
    assert dependencies(few) == ()
