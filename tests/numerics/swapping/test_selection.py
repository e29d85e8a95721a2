"""The cheapest changes of a group."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.swapping.classes import classes_of
from app.numerics.swapping.dual import cheapest_changes, weighted_order_statistic
from app.numerics.swapping.problem import SwapProblem
from tests.numerics.swapping.reference import problems


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 4)), min_size=1, max_size=40),
    st.floats(0, 1),
)
def test_the_order_statistic_is_that_of_the_repeated_values(
    pairs: list[tuple[int, int]], share: float
) -> None:
    value = np.array([pair[0] for pair in pairs], dtype=np.float64)
    size = np.array([pair[1] for pair in pairs])
    repeated = np.sort(np.repeat(value, size))
    rank = 1 + round(share * (len(repeated) - 1))
    assert weighted_order_statistic(value, size, rank) == repeated[rank - 1]


@settings(deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_every_group_takes_its_cheapest(problem: SwapProblem, seed: int) -> None:
    if not len(problem.home):
        return
    classes = classes_of(problem)
    value = np.random.default_rng(seed).integers(-2, 3, len(classes.home)).astype(float)
    amount, threshold = cheapest_changes(classes, value)
    for group, quota in enumerate(problem.quota):
        members = classes.group == group
        repeated = np.sort(np.repeat(value[members], classes.size[members]))
        assert amount[members].sum() == quota
        assert amount[members] @ value[members] == repeated[:quota].sum()
        assert np.all(amount[members] <= classes.size[members])
        if quota:
            assert threshold[group] >= repeated[quota - 1]
        if 0 < quota < len(repeated):
            assert threshold[group] <= repeated[quota] or np.count_nonzero(members) == 1
