"""Phase I of the published method: change the demanded number and keep the marginal [li2004, eqs. 1a-1d].

| symbol | name | meaning |
|---|---|---|
| N_k | `available[k]` | records that could change from category k |
| n_kh | `moves[k, h]` | records changed from category k to h |
| s_k⁻, s_k⁺ | last 2C variables | arrivals minus departures of k, split by sign |
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, eye_array, hstack

from app.numerics.arrays import FloatArray, IntArray
from app.numerics.swapping.problem import Problem


def category_moves(available: IntArray, changes: int) -> IntArray:
    """n_kh that minimise (1a) under (1b) to (1d). Shape (C, C), zero diagonal, Σ n_kh = `changes`.

    Departs from [li2004, phase I]: n_kh are integers from the start, because a rounded fraction can
    break (1b). Among the many solutions one that moves records by the fewest categories upwards
    (around the end) is taken, so that the answer does not hang on the solver's path; on the paper's
    example it is the paper's. ValueError if more changes are asked than records are there.
    """
    categories = len(available)
    if changes > available.sum():
        raise ValueError("more changes than records")
    moves = np.zeros((categories, categories), dtype=np.int64)
    if changes == 0:
        return moves
    source, target = np.nonzero(~np.eye(categories, dtype=bool))
    leave, arrive = _incidence(source, categories), _incidence(target, categories)
    slack = eye_array(categories)
    no_slack = csr_array((categories, 2 * categories))
    is_move = np.repeat([1.0, 0.0], [len(source), 2 * categories])
    constraints = [
        LinearConstraint(is_move[None, :], changes, changes),  # (1b)
        LinearConstraint(hstack([leave - arrive, slack, -slack]), 0, 0),  # (1c)
        LinearConstraint(hstack([leave, no_slack]), 0, available),  # (1d)
    ]
    is_slack = 1.0 - is_move
    smallest = round(float(is_slack @ _integer_solution(is_slack, constraints)))
    constraints.append(LinearConstraint(is_slack[None, :], 0, smallest))
    distance = np.concatenate([(target - source) % categories, np.zeros(2 * categories)])
    moves[source, target] = _integer_solution(distance, constraints)[: len(source)]
    return moves


def first_values(problem: Problem, rng: np.random.Generator) -> IntArray:
    """Values after phase I: records drawn at random to fill n_kh, in U and in V apart. Shape (n,).

    (1) is solved once for U with p·|U| changes, and once for the records that (C2) takes from the
    groups, all of which change (p = 1); which members of a group those are is drawn, too.
    """
    values = problem.home.copy()
    for chosen, changes in (
        (np.flatnonzero(problem.group == 0), int(problem.quota[0])),
        (drawn_members(problem, rng), int(problem.quota[1:].sum())),
    ):
        home = problem.home[chosen]
        moves = category_moves(np.bincount(home, minlength=problem.categories), changes)
        for category in range(problem.categories):
            candidates = rng.permutation(chosen[home == category])
            targets = np.repeat(np.arange(problem.categories), moves[category])
            values[candidates[: len(targets)]] = targets
    return values


def drawn_members(problem: Problem, rng: np.random.Generator) -> IntArray:
    """quota[g] members of every group g of V, drawn at random. Shape (Σ quota[1:],)."""
    members = np.flatnonzero(problem.group > 0)
    order = members[np.lexsort((rng.random(len(members)), problem.group[members]))]
    group = problem.group[order]
    size = np.bincount(group, minlength=len(problem.quota))
    rank = np.arange(len(order)) - (np.cumsum(size) - size)[group]
    return order[rank < problem.quota[group]]


def _incidence(category: IntArray, categories: int) -> csr_array:
    column = np.arange(len(category))
    return coo_array(
        (np.ones(len(category)), (category, column)), shape=(categories, len(category))
    ).tocsr()


def _integer_solution(cost: FloatArray, constraints: list[LinearConstraint]) -> IntArray:
    result = milp(
        cost, constraints=constraints, integrality=np.ones(len(cost)), options={"mip_rel_gap": 0}
    )
    if result.x is None:  # (1) is always feasible: only a fault of ours gets here
        raise ValueError(f"phase I was not solved: {result.message}")
    solution: IntArray = np.rint(result.x).astype(np.int64)
    return solution
