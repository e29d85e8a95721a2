"""The swapping problem as one integer program over all records, and random instances of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

from app.numerics.swapping.problem import SwapProblem

FloatArray = npt.NDArray[np.float64]


def solved_as_integer_program(
    problem: SwapProblem, deviation: int | None = None
) -> tuple[int, float]:
    """Deviation (the smallest unless given) and the smallest Σ d, with one binary per record and value."""
    n, categories = problem.posterior.shape
    cost = problem.posterior[np.arange(n), problem.home][:, None] - problem.posterior
    width = n * categories + 2 * categories

    def row(of_values: FloatArray, of_slacks: FloatArray) -> FloatArray:
        return np.concatenate([of_values.ravel(), of_slacks])

    no_slack, no_value = np.zeros(2 * categories), np.zeros((n, categories))
    rows, sides = [], []
    for record in range(n):
        one = no_value.copy()
        one[record] = 1
        rows.append(row(one, no_slack))
        sides.append(1)
    for group, quota in enumerate(problem.quota):
        moves = np.repeat((problem.group == group)[:, None], categories, axis=1).astype(float)
        moves[np.arange(n), problem.home] = 0
        rows.append(row(moves, no_slack))
        sides.append(int(quota))
    for category in range(categories):
        column, slack = no_value.copy(), no_slack.copy()
        column[:, category] = 1
        slack[category], slack[categories + category] = 1, -1
        rows.append(row(column, slack))
        sides.append(int(np.count_nonzero(problem.home == category)))
    equalities = LinearConstraint(np.array(rows), sides, sides)
    slacks = row(no_value, np.ones(2 * categories))
    whole = np.ones(width)
    if deviation is None:
        deviation = round(milp(slacks, integrality=whole, constraints=equalities).fun)
    # The factor puts differences of 10⁻⁹ above the solver's absolute tolerance.
    result = milp(
        1_000 * row(cost, no_slack),
        integrality=whole,
        constraints=[equalities, LinearConstraint(slacks[None, :], 0, deviation)],
        options={"mip_rel_gap": 0},
    )
    return deviation, float(result.fun) / 1_000


@st.composite
def problems(draw: st.DrawFn) -> SwapProblem:
    """Up to 12 records and 4 categories; posteriors with and without ties; groups alike or not."""
    categories = draw(st.integers(2, 4))
    weight = draw(st.sampled_from([st.integers(0, 2), st.integers(0, 1_000)]))
    unique = draw(st.integers(0, 12))
    sizes = draw(st.lists(st.integers(2, 4), max_size=4 if unique < 5 else 2))
    while unique + sum(sizes) > 12:
        sizes.pop()
    home, group, posterior, quota = [], [], [], [draw(st.integers(0, unique))]

    def add(category: int, number: int, weights: list[int]) -> None:
        row = np.array(weights, dtype=np.float64)
        row[category] += 1  # what a record has is possible for it
        home.append(category)
        group.append(number)
        posterior.append(row / row.sum())

    rows = st.lists(weight, min_size=categories, max_size=categories)
    category = st.integers(0, categories - 1)
    for _ in range(unique):
        add(draw(category), 0, draw(rows))
    for number, size in enumerate(sizes, start=1):
        shared, alike, weights = draw(category), draw(st.booleans()), draw(rows)
        for _ in range(size):
            add(shared, number, weights if alike else draw(rows))
        quota.append(draw(st.integers(1, size - 1)))
    return SwapProblem(
        np.array(home, dtype=np.int64),
        np.array(posterior).reshape(len(home), categories),
        np.array(group, dtype=np.int64),
        np.array(quota, dtype=np.int64),
    )
