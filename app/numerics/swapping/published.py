"""Published swapping methods [li2004]: greedy in two phases, and random.

Phase I changes the demanded number and keeps the marginal [eqs. 1a-1d]; phase II makes sorted sweeps of
admissible swaps [eq. 14, table 2, appendix A].

| symbol | name | meaning |
|---|---|---|
| N_k | `available[k]` | records that could change from category k |
| n_kh | `moves[k, h]` | records changed from category k to h |
| s_k⁻, s_k⁺ | last 2C variables | arrivals minus departures of k, split by sign |
| U^p, U^u, V^p | `CHANGED`, `KEPT`, `MEMBER` | changed and unchanged records of U, changed records of V |
| a, c | `home` | true categories of the two records of a swap |
| b, d | `value` | their current categories |
| c_ij | cost | p_i(b) - p_i(d) + p_j(d) - p_j(b), eq. 14 |

Every rule of admissibility looks only at (set, true, current) of the two records. Records that agree
in these form a kind, and the swaps between two kinds are admissible all or none.

The random method changes as many, without a look at the rest. It departs from nothing printed: the paper only says
that new values are about proportional to the original marginal. Here each changed record draws its new category
k ≠ t with probability N_k / Σ_{h ≠ t} N_h, independently.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy
from scipy.sparse import coo_array, csr_array, eye_array, hstack

from app.numerics.arrays import Flags, FloatArray, IntArray
from app.numerics.cancellation import checkpoint
from app.numerics.swapping.problem import SwapProblem


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
        scipy.optimize.LinearConstraint(is_move[None, :], changes, changes),  # (1b)
        scipy.optimize.LinearConstraint(hstack([leave - arrive, slack, -slack]), 0, 0),  # (1c)
        scipy.optimize.LinearConstraint(hstack([leave, no_slack]), 0, available),  # (1d)
    ]
    is_slack = 1.0 - is_move
    smallest = round(float(is_slack @ _integer_solution(is_slack, constraints)))
    constraints.append(scipy.optimize.LinearConstraint(is_slack[None, :], 0, smallest))
    distance = np.concatenate([(target - source) % categories, np.zeros(2 * categories)])
    moves[source, target] = _integer_solution(distance, constraints)[: len(source)]
    return moves


def first_values(problem: SwapProblem, rng: np.random.Generator) -> IntArray:
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


def drawn_members(problem: SwapProblem, rng: np.random.Generator) -> IntArray:
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


def _integer_solution(
    cost: FloatArray, constraints: list[scipy.optimize.LinearConstraint]
) -> IntArray:
    result = scipy.optimize.milp(
        cost, constraints=constraints, integrality=np.ones(len(cost)), options={"mip_rel_gap": 0}
    )
    if result.x is None:  # (1) is always feasible: only a fault of ours gets here
        raise ValueError(f"phase I was not solved: {result.message}")
    solution: IntArray = np.rint(result.x).astype(np.int64)
    return solution


KEPT, CHANGED, MEMBER = 0, 1, 2
HELD_SWAPS = 5_000_000
"""Longest sorted list in memory at a time; a longer one is consumed in parts."""
ROUNDING = 1e-12
"""A cost that is not below this is 0: swaps for nothing could go round in circles."""


class SwapEligibility(NamedTuple):
    """Properties of a record that the rules of admissibility use."""

    set: int
    home: int
    value: int


def admissible(first: SwapEligibility, second: SwapEligibility) -> bool:
    """Return whether records of these kinds may swap values [li2004, definition 3 and rules 1 to 4]."""
    if first.value == second.value:
        return False  # definition 3: there is nothing to exchange
    sets = {first.set, second.set}
    if sets == {KEPT}:
        return False  # rule 1
    if sets == {KEPT, MEMBER}:
        return False  # rule 2
    if first.home == second.home:
        return True
    if KEPT in sets:
        return False  # rule 3
    return len({first.home, first.value, second.home, second.value}) == 4  # rule 4


def swept_values(problem: SwapProblem, values: IntArray) -> IntArray:
    """Values after phase II, from those after phase I. Shape (n,).

    Step 3 of table 2 as published: all admissible swaps of negative cost are made in ascending
    order of cost, each record at most once in a sweep; step 4: sweeps follow until no admissible
    swap has a negative cost. Every sweep lowers the objective, so the sweeps end. Time O(n²) a sweep.
    """
    values = values.copy()
    movable = np.flatnonzero((problem.group == 0) | problem.changed(values))
    while True:
        swaps = _cheapest_swaps(problem, values, movable)
        if not len(swaps):
            return values
        resting = movable
        while len(swaps):
            busy = _made(values, swaps)
            resting = resting[~busy[resting]]
            # A list that was cut off goes on with the records still at rest: every swap of them
            # was cut off, and every swap that was cut off and is still possible is one of them.
            cut_off = len(swaps) == HELD_SWAPS
            swaps = _cheapest_swaps(problem, values, resting) if cut_off else swaps[:0]


def _made(values: IntArray, swaps: IntArray) -> Flags:
    """Make the swaps (m, 2) in their order, each record once; returns who is no longer at rest."""
    busy = np.zeros(len(values), dtype=bool)
    for start in range(0, len(swaps), 65_536):
        checkpoint()
        part = swaps[start : start + 65_536]
        for first, second in part[~busy[part].any(axis=1)].tolist():
            if not (busy[first] or busy[second]):
                values[first], values[second] = values[second], values[first]
                busy[first] = busy[second] = True
    return busy


def _cheapest_swaps(problem: SwapProblem, values: IntArray, resting: IntArray) -> IntArray:
    """The `HELD_SWAPS` cheapest admissible swaps of negative cost in ascending order. Shape (m, 2)."""
    costs: list[FloatArray] = [np.empty(0)]
    swaps: list[IntArray] = [np.empty((0, 2), dtype=np.int64)]
    held = 0
    for cost, pairs in _negative_swaps(problem, values, resting):
        costs.append(cost)
        swaps.append(pairs)
        held += len(cost)
        if held > 2 * HELD_SWAPS:
            costs, swaps = [np.concatenate(costs)], [np.concatenate(swaps)]
            cheapest = np.argpartition(costs[0], HELD_SWAPS)[:HELD_SWAPS]
            costs, swaps, held = [costs[0][cheapest]], [swaps[0][cheapest]], HELD_SWAPS
    all_costs, all_swaps = np.concatenate(costs), np.concatenate(swaps)
    # Equal costs are taken in the order of the records, whatever the order of the blocks.
    order = np.lexsort((all_swaps[:, 1], all_swaps[:, 0], all_costs))
    return all_swaps[order[:HELD_SWAPS]]


def _negative_swaps(
    problem: SwapProblem, values: IntArray, resting: IntArray
) -> Iterator[tuple[FloatArray, IntArray]]:
    """Costs (14) and pairs of all admissible swaps of negative cost, in blocks."""
    for first, of_first, second, of_second in _admissible_kinds(problem, values, resting):
        # c_ij is a sum of what i loses by going from b to d and what j loses by going back.
        b, d = first.value, second.value
        of_i = problem.posterior[of_first, b] - problem.posterior[of_first, d]
        of_j = problem.posterior[of_second, d] - problem.posterior[of_second, b]
        if of_i.min() + of_j.min() >= -ROUNDING:
            continue
        rows = max(1, HELD_SWAPS // max(len(of_j), 1))
        for start in range(0, len(of_i), rows):
            checkpoint()
            cost = of_i[start : start + rows, None] + of_j[None, :]
            i, j = np.nonzero(cost < -ROUNDING)
            if len(i):
                yield cost[i, j], np.column_stack([of_first[start + i], of_second[j]])


def _admissible_kinds(
    problem: SwapProblem, values: IntArray, resting: IntArray
) -> Iterator[tuple[SwapEligibility, IntArray, SwapEligibility, IntArray]]:
    """Pairs of kinds between which swaps are admissible, each with its resting records."""
    home, value = problem.home[resting], values[resting]
    set_ = np.where(problem.group[resting] > 0, MEMBER, np.where(home == value, KEPT, CHANGED))
    categories = problem.categories
    code = (set_ * categories + home) * categories + value
    order = np.argsort(code, kind="stable")
    present, start = np.unique(code[order], return_index=True)
    members = np.split(resting[order], start[1:])
    kinds = [
        SwapEligibility(
            int(c) // categories**2, int(c) // categories % categories, int(c) % categories
        )
        for c in present
    ]
    for a, first in enumerate(kinds):
        for b in range(a, len(kinds)):
            if admissible(first, kinds[b]):
                yield first, members[a], kinds[b], members[b]


def random_values(problem: SwapProblem, marginal: IntArray, rng: np.random.Generator) -> IntArray:
    """Values of the n records after a random change that satisfies (C1) and (C2). Shape (n,).

    `marginal` holds N_k of the whole table, shape (C,).
    """
    values = problem.home.copy()
    of_unique = rng.permutation(np.flatnonzero(problem.group == 0))[: problem.quota[0]]
    chosen = np.concatenate([of_unique, drawn_members(problem, rng)])
    for category in range(problem.categories):
        leaving = chosen[problem.home[chosen] == category]
        weight = marginal.astype(np.float64)
        weight[category] = 0
        if len(leaving):
            values[leaving] = rng.choice(len(weight), len(leaving), p=weight / weight.sum())
    return values
