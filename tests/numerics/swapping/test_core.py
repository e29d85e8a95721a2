"""Slacks of options, and the integer program of what the prices leave open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.numerics.swapping.classes import classes_of
from app.numerics.swapping.dual import best_response, response
from app.numerics.swapping.optimal import best_within, slacks
from app.numerics.swapping.problem import SwapProblem, smallest_deviation
from tests.numerics.swapping.reference import problems, solved_as_integer_program


@settings(deadline=None, max_examples=60)
@given(problems(), st.integers(0, 2**32 - 1))
def test_phi_is_a_bound_at_any_prices(problem: SwapProblem, seed: int) -> None:
    assume(len(problem.home))
    classes = classes_of(problem)
    deviation, best = solved_as_integer_program(problem)
    prices = np.random.default_rng(seed).normal(0, 0.5, problem.categories)
    assert response(classes, deviation, prices).bound <= best + 1e-9
    assert best_response(classes, deviation).bound <= best + 1e-9


@settings(deadline=None, max_examples=60)
@given(problems())
def test_every_class_has_an_option_without_slack_and_none_below(problem: SwapProblem) -> None:
    assume(len(problem.home))
    classes = classes_of(problem)
    slack = slacks(classes, best_response(classes, smallest_deviation(problem)))
    assert np.all(slack.min(axis=0) == 0)
    own = (classes.home, np.arange(len(classes.home)))
    assert np.all(np.isinf(slack[own]))
    # A class that is alone in its group cannot stay; else every such class were in the core.
    assert np.all(np.isinf(slack[-1, classes.alone]))


def test_a_window_without_a_choice_says_so() -> None:
    # Two of three must change; at these prices only the first two want to, both to category 2.
    posterior = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    problem = SwapProblem(np.array([0, 1, 2]), posterior, np.zeros(3, np.int64), np.array([2]))
    classes = classes_of(problem)
    at = response(classes, 0, np.zeros(3))
    slack = slacks(classes, at)
    assert best_within(classes, at, slack, 0.0, 0) is None
    everything = best_within(classes, at, slack, float(slack[np.isfinite(slack)].max()), 0)
    assert everything is not None
    assert everything.cost == pytest.approx(solved_as_integer_program(problem)[1])
