"""The random method: quotas are met, new values follow the marginal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from app.numerics.swapping.problem import SwapProblem
from app.numerics.swapping.published import random_values
from tests.numerics.swapping.reference import problems


@settings(deadline=None, max_examples=60)
@given(problems(), st.integers(0, 2**32 - 1))
def test_every_group_changes_exactly_its_quota(problem: SwapProblem, seed: int) -> None:
    marginal = np.arange(1, problem.categories + 1)
    values = random_values(problem, marginal, np.random.default_rng(seed))
    changes = np.bincount(problem.group, problem.changed(values), len(problem.quota))
    assert changes.tolist() == problem.quota.tolist()


@pytest.mark.parametrize(("tilt", "accepted"), [(1.0, True), (1.1, False)])
def test_new_values_are_proportional_to_the_marginal(tilt: float, accepted: bool) -> None:
    n, marginal = 40_000, np.array([100, 200, 300])
    home = np.zeros(n, dtype=np.int64)
    problem = SwapProblem(home, np.full((n, 3), 1 / 3), np.zeros_like(home), np.array([n]))
    counts = np.bincount(random_values(problem, marginal, np.random.default_rng(5)), minlength=3)
    assert counts[0] == 0
    expected = np.array([200 * tilt, 300])
    probability = chisquare(counts[1:], n * expected / expected.sum()).pvalue
    assert (probability > 1e-3) == accepted
