"""Phase I: the demanded number of changes and the smallest deviation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.swapping.problem import SwapProblem, smallest_deviation
from app.numerics.swapping.published import category_moves, first_values
from papers.li2004 import example
from tests.numerics.swapping.reference import problems


def off_balance(moves: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> int:
    return int(np.abs(moves.sum(axis=0) - moves.sum(axis=1)).sum())


def test_the_example_moves_low_to_med_to_high_to_low() -> None:
    expected = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert category_moves(np.array([2, 2, 2]), 3).tolist() == expected


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=5), st.floats(0, 1))
def test_moves_are_as_many_as_demanded_and_deviate_as_little_as_possible(
    available: list[int], share: float
) -> None:
    changes = round(share * sum(available))
    moves = category_moves(np.array(available), changes)
    assert moves.sum() == changes
    assert np.all(moves.sum(axis=1) <= available)
    assert np.all(np.diag(moves) == 0)
    home = np.repeat(np.arange(len(available)), available)
    alone = SwapProblem(
        home, np.zeros((len(home), len(available))), np.zeros_like(home), np.array([changes])
    )
    assert off_balance(moves) == smallest_deviation(alone)


def test_an_odd_number_of_flips_is_off_by_two() -> None:
    moves = category_moves(np.array([10, 10]), 7)
    assert sorted(moves[[0, 1], [1, 0]].tolist()) == [3, 4]


@settings(deadline=None, max_examples=40)
@given(problems(), st.integers(0, 2**32 - 1))
def test_every_group_changes_exactly_its_quota(problem: SwapProblem, seed: int) -> None:
    values = first_values(problem, np.random.default_rng(seed))
    changes = np.bincount(problem.group, problem.changed(values), len(problem.quota))
    assert changes.tolist() == problem.quota.tolist()


def test_records_are_drawn() -> None:
    *_, problem = example()
    seen = {tuple(first_values(problem, np.random.default_rng(seed))) for seed in range(8)}
    assert len(seen) > 3


def test_more_changes_than_records_are_misuse() -> None:
    with pytest.raises(ValueError, match="more changes"):
        category_moves(np.array([1, 1]), 3)
