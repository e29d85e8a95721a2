"""A swap from codes to codes: what it never touches, what it always keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import IntArray
from app.numerics.swapping import swap as swap_module
from app.numerics.swapping.identifiability import COLLECTIVE, UNIDENTIFIABLE, UNIQUE
from app.numerics.swapping.problem import GroupQuota
from app.numerics.swapping.swap import Method, SwapPolicy, swapped, swapped_in_turn
from papers.li2004 import example

methods = st.sampled_from(["optimal", "greedy", "random"])


@st.composite
def tables(draw: st.DrawFn) -> tuple[IntArray, list[IntArray]]:
    """A confidential column of at least three categories, all of which occur, and two others."""
    rows = draw(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=3, max_size=30))
    table = np.array(rows, dtype=np.int64)
    table[:3, 2] = [0, 1, 2]
    return np.unique(table[:, 2], return_inverse=True)[1], [table[:, 0] * 4, table[:, 1]]


@settings(deadline=None, max_examples=80)
@given(tables(), methods, st.floats(0.05, 1), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_what_every_swap_keeps(
    table: tuple[IntArray, list[IntArray]],
    method: Method,
    proportion: float,
    number: int,
    seed: int,
) -> None:
    hidden, known = table
    policy = SwapPolicy(proportion, method, GroupQuota(number))
    swap = swapped(hidden, known, known, policy, np.random.default_rng(seed))
    moved = swap.values != hidden
    # Unidentifiable records are never changed.
    assert not moved[swap.before.status == UNIDENTIFIABLE].any()
    # The multiset of values is kept whenever the deviation is said to be 0.
    same = sorted(swap.values.tolist()) == sorted(hidden.tolist())
    assert same == (swap.deviation == 0)
    assert swap.deviation >= swap.smallest_deviation
    if method == "optimal":
        assert swap.deviation == swap.smallest_deviation
        assert swap.gap == 0
    # No group of V is identifiable any more; of U as many are disclosed as were not changed.
    assert not (swap.after.status[swap.before.status == COLLECTIVE] != UNIDENTIFIABLE).any()
    unique = swap.before.status == UNIQUE
    assert swap.still_disclosed == np.count_nonzero(unique & ~moved)
    assert swap.changed == np.count_nonzero(moved)


def test_the_same_seed_gives_the_same_swap() -> None:
    hidden, known, _, _ = example()
    for method in ("optimal", "greedy", "random"):
        policy = SwapPolicy(method=method)
        first, second = (
            swapped(hidden, known, known, policy, np.random.default_rng(3)) for _ in range(2)
        )
        assert first.values.tolist() == second.values.tolist()


def test_greedy_tells_the_objective_after_each_phase() -> None:
    hidden, known, _, _ = example()
    swap = swapped(hidden, known, known, SwapPolicy(method="greedy"), np.random.default_rng(0))
    assert swap.phase_one is not None
    assert swap.phase_one >= swap.objective == pytest.approx(2.4237, abs=6e-5)
    assert swap.gap is None


def test_a_second_confidential_attribute_follows_the_first_as_swapped() -> None:
    rng = np.random.default_rng(0)
    known = [np.arange(600) // 2 % 60, rng.integers(0, 5, 600)]
    first = rng.integers(0, 3, 600)
    second = (first + (rng.random(600) < 0.05)) % 3  # nearly the same as the first
    one, two = swapped_in_turn([first, second], known, SwapPolicy(), np.random.default_rng(1))
    apart = swapped(second, known, known, SwapPolicy(), np.random.default_rng(1))
    both = np.mean(one.values == two.values)
    assert both > np.mean(one.values == apart.values) + 0.05
    # Both are identified by the known attributes alone.
    assert two.before.status.tolist() == apart.before.status.tolist()


def test_nothing_identifiable_leaves_the_table_as_it_is() -> None:
    hidden, known = np.array([0, 1, 2, 0]), [np.zeros(4, dtype=np.int64)]
    for method in ("optimal", "greedy", "random"):
        swap = swapped(hidden, known, known, SwapPolicy(method=method), np.random.default_rng(0))
        assert swap.values.tolist() == hidden.tolist()
        assert (swap.changed, swap.objective, swap.deviation) == (0, 0.0, 0)


def test_flipping_every_value_is_refused() -> None:
    hidden, known = np.array([0, 1, 0, 1]), [np.arange(4)]
    with pytest.raises(InvalidParameter) as caught:
        swapped(hidden, known, known, SwapPolicy(1.0), np.random.default_rng(0))
    assert caught.value.fields["parameter"] == "proportion"


@pytest.mark.parametrize("proportion", [0.0, -0.1, 1.1, float("nan")])
def test_a_proportion_outside_0_to_1_is_refused(proportion: float) -> None:
    with pytest.raises(InvalidParameter):
        SwapPolicy(proportion)


def test_a_constant_attribute_is_refused() -> None:
    with pytest.raises(InvalidTable):
        swapped(np.zeros(3, np.int64), [np.arange(3)], [], SwapPolicy(), np.random.default_rng(0))


def test_problems_beyond_the_limits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, known = np.arange(9) % 3, [np.arange(9)]
    monkeypatch.setattr(swap_module, "LARGEST_GREEDY", 8)
    with pytest.raises(InvalidParameter):
        swapped(hidden, known, known, SwapPolicy(method="greedy"), np.random.default_rng(0))
    for limit, value in (("LARGEST_PROBLEM", 26), ("MOST_CATEGORIES", 2)):
        with monkeypatch.context() as patch:
            patch.setattr(swap_module, limit, value)
            with pytest.raises(InvalidTable):
                swapped(hidden, known, known, SwapPolicy(), np.random.default_rng(0))
