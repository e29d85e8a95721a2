"""Measures of what a swap did."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.swapping.fidelity import i_divergence, tree_fit


def test_i_divergence_is_eq_2() -> None:
    x = np.array([0, 0, 1, 1])
    before, after = np.array([0, 0, 0, 1]), np.array([0, 1, 0, 1])
    # Cells (0,0): 2/4 to 1/4; (1,0) and (1,1) stay at 1/4; (0,1) is new.
    found = i_divergence(x, before, after)
    assert found.value == pytest.approx(0.5 * np.log(2))
    assert found.vanished == 0


def test_an_unchanged_attribute_does_not_diverge() -> None:
    x, y = np.array([0, 1, 2]), np.array([1, 0, 1])
    assert i_divergence(x, y, y).value == 0


def test_a_combination_that_vanished_makes_the_divergence_infinite() -> None:
    found = i_divergence(np.array([0, 1]), np.array([0, 1]), np.array([1, 0]))
    assert found.value == float("inf")
    assert found.vanished == 2


def test_a_tree_learns_what_there_is_and_not_what_is_not() -> None:
    rng = np.random.default_rng(0)
    x = [rng.integers(0, 4, 2_000) for _ in range(3)]
    assert tree_fit(x, (x[0] > 1).astype(np.int64)).error == 0
    assert tree_fit(x, rng.integers(0, 2, 2_000)).error == pytest.approx(0.5, abs=0.05)


def test_a_category_of_one_record_cannot_be_cross_validated() -> None:
    with pytest.raises(ValueError, match="two records"):
        tree_fit([np.zeros(5, dtype=np.int64)], np.array([0, 0, 0, 0, 1]))
