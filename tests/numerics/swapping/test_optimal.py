"""The optimum against an integer program over all records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.numerics.swapping.optimal import optimal_values
from app.numerics.swapping.problem import SwapProblem, deviation, objective, smallest_deviation
from app.numerics.swapping.published import first_values, swept_values
from papers.li2004 import example
from tests.numerics.swapping.reference import problems, solved_as_integer_program


def random_problem(n: int, categories: int, seed: int, *, in_groups: float = 0.2) -> SwapProblem:
    """n records with distinct posteriors, some of them in pairs that share one."""
    rng = np.random.default_rng(seed)
    weight = rng.gamma(1.0, size=(n, categories)) + 1e-3
    posterior = weight / weight.sum(axis=1, keepdims=True)
    home = (posterior.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    paired = int(n * in_groups) // 2 * 2
    group = np.zeros(n, dtype=np.int64)
    group[:paired] = 1 + np.arange(paired) // 2
    posterior[1:paired:2], home[1:paired:2] = posterior[0:paired:2], home[0:paired:2]
    quota = np.ones(paired // 2 + 1, dtype=np.int64)
    quota[0] = (n - paired) // 2
    return SwapProblem(home.astype(np.int64), posterior, group, quota)


def test_the_example_has_an_optimum_of_2_1353_with_gap_0() -> None:
    *_, problem = example()
    optimum = optimal_values(problem, np.random.default_rng(0))
    assert round(optimum.objective, 4) == 2.1353
    assert optimum.gap == 0
    assert optimum.deviation == 0


@settings(max_examples=120, deadline=None)
@given(problems(), st.sampled_from([0, 1, 3, 64]))
def test_the_optimum_equals_that_of_an_integer_program(
    problem: SwapProblem, first_core: int
) -> None:
    smallest, best = solved_as_integer_program(problem) if len(problem.home) else (0, 0.0)
    optimum = optimal_values(problem, np.random.default_rng(0), first_core=first_core)
    assert smallest_deviation(problem) == smallest
    assert deviation(problem.home, optimum.values, problem.categories) == smallest
    assert optimum.objective == pytest.approx(best, abs=1e-8)
    assert optimum.objective == pytest.approx(objective(problem, optimum.values), abs=1e-12)
    assert optimum.gap == 0


@settings(max_examples=40, deadline=None)
@given(problems(), st.integers(0, 6))
def test_the_optimum_uses_the_deviation_that_it_is_allowed(problem: SwapProblem, more: int) -> None:
    assume(len(problem.home))
    allowed = smallest_deviation(problem) + more
    _, best = solved_as_integer_program(problem, allowed)
    optimum = optimal_values(problem, np.random.default_rng(0), deviation=allowed, first_core=1)
    assert deviation(problem.home, optimum.values, problem.categories) <= allowed
    assert optimum.objective == pytest.approx(best, abs=1e-8)
    assert optimum.gap == 0


@settings(max_examples=40, deadline=None)
@given(problems())
def test_every_group_changes_exactly_its_quota(problem: SwapProblem) -> None:
    values = optimal_values(problem, np.random.default_rng(0)).values
    changes = np.bincount(problem.group, problem.changed(values), len(problem.quota))
    assert changes.tolist() == problem.quota.tolist()


@pytest.mark.parametrize(("n", "categories"), [(300, 2), (301, 2), (400, 3), (1_000, 5), (600, 12)])
def test_larger_problems_are_proven_optimal_and_never_above_the_published_method(
    n: int, categories: int
) -> None:
    problem = random_problem(n, categories, seed=n)
    rng = np.random.default_rng(1)
    greedy = swept_values(problem, first_values(problem, rng))
    off = deviation(problem.home, greedy, categories)
    optimum = optimal_values(problem, rng, deviation=off)
    assert optimum.gap == 0
    assert optimum.objective <= objective(problem, greedy) + 1e-9


def test_records_that_are_all_alike_are_solved_at_once() -> None:
    # A key among the attributes makes every posterior certain and every change cost 1.
    home = np.repeat(np.arange(4), 5_000)
    problem = SwapProblem(
        home, np.eye(4)[home], np.zeros(20_000, dtype=np.int64), np.array([9_999])
    )
    optimum = optimal_values(problem, np.random.default_rng(0))
    assert optimum.objective == 9_999
    assert optimum.gap == 0
    assert deviation(home, optimum.values, 4) == 0


def test_which_of_several_alike_records_change_is_drawn() -> None:
    home = np.repeat(np.arange(2), 50)
    problem = SwapProblem(home, np.eye(2)[home], np.zeros(100, dtype=np.int64), np.array([50]))
    drawn = [optimal_values(problem, np.random.default_rng(seed)).values for seed in range(3)]
    assert not np.array_equal(drawn[0], drawn[1])
    repeated = optimal_values(problem, np.random.default_rng(2)).values
    assert np.array_equal(drawn[2], repeated)


def test_an_integral_marginal_that_needs_fractions_is_not_promised() -> None:
    # Three records of three categories, one must change: thirds would keep the marginal.
    problem = SwapProblem(
        np.arange(3), np.full((3, 3), 1 / 3), np.zeros(3, np.int64), np.array([1])
    )
    optimum = optimal_values(problem, np.random.default_rng(0))
    assert optimum.deviation == 2
    assert optimum.gap == 0


def test_a_deviation_below_the_smallest_is_misuse() -> None:
    problem = SwapProblem(
        np.arange(3), np.full((3, 3), 1 / 3), np.zeros(3, np.int64), np.array([1])
    )
    with pytest.raises(ValueError, match="deviation"):
        optimal_values(problem, np.random.default_rng(0), deviation=0)


def test_without_identifiable_records_there_is_nothing_to_do() -> None:
    nobody = np.empty(0, dtype=np.int64)
    optimum = optimal_values(
        SwapProblem(nobody, np.empty((0, 3)), nobody, np.array([0])), np.random.default_rng(0)
    )
    assert (len(optimum.values), optimum.objective, optimum.gap) == (0, 0.0, 0.0)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_when_the_core_is_too_large_the_gap_is_admitted(problem: SwapProblem) -> None:
    assume(len(problem.home))
    _, best = solved_as_integer_program(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.numerics.swapping.optimal.LARGEST_CORE", -1)
        found = optimal_values(problem, np.random.default_rng(0), first_core=0)
    assert found.bound <= best + 1e-8
    assert found.objective >= best - 1e-8
    assert found.gap >= 0
