"""Optimal swap: minimum Σ d under (C1), (C2) and the kept marginal, with a certificate [li2004, problem 12].

Prices first (`dual`), then the few records that the prices leave open, their core, solved as a small integer
program, then the window that the difference of the two asks for, until no choice outside the core can be better.

At prices λ every option of a class, to change to k or to stay, has a slack: how much dearer it is
than the class's best option. A choice whose slacks sum to s costs at least φ(λ) + s. Options whose
slack exceeds τ are struck out; where one option is left the class is settled, and the rest is the
core: a handful of classes that are almost indifferent. If the best choice within the core costs at
most φ(λ) + τ, no choice outside it is better, and it is the optimum.

Departs from [li2004, eq. 12]: the paper avoids the integer program for its size; the core has none.
Prices alone would not do, because the relaxed program is not integral: three records of three
categories, of which exactly two must stay, keep the marginal only in fractions.

| symbol | name | meaning |
|---|---|---|
| τ | `window` | largest slack of an option that stays open |
| x | first variables | how many records of a class take an open option |
| δ_k⁺, δ_k⁻ | last 2C variables | arrivals minus departures of k, split by sign |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy
from scipy.sparse import coo_array, csr_array, eye_array, hstack

from app.numerics.arrays import FloatArray, IntArray
from app.numerics.cancellation import call_in_process, checkpoint
from app.numerics.swapping.classes import Classes, classes_of, spread_over_records
from app.numerics.swapping.dual import DualResponse, best_response
from app.numerics.swapping.problem import SwapProblem, objective, smallest_deviation

MOST_NODES = 100_000
SMALLEST_UNIT = 1e-9

MOST_VARIABLES_IN_THREAD = 10_000
"""The solver passes no checkpoint: 10,000 variables took 0.1 to 0.5 s of a core, 51,000 took 19 s."""


@dataclass(frozen=True)
class Choice:
    """How many of class j change to k, `amounts[k, j]`; what that costs, and a bound within the core."""

    amounts: IntArray
    cost: float
    bound: float


def slacks(classes: Classes, at: DualResponse) -> FloatArray:
    """Extra cost of each option over the best of its class. Shape (C + 1, m); last row: to stay.

    To change to k costs d + λ_k - λ_t - μ_g, to stay 0. A class that is alone in its group has no
    say in how many change, so that staying is no option (+∞).
    """
    threshold = at.threshold[classes.group]
    best = np.minimum(at.value - threshold, 0.0)
    slack = np.empty((classes.categories + 1, len(best)))
    np.add(classes.cost, at.prices[:, None], out=slack[:-1])
    slack[:-1] -= at.prices[classes.home] + threshold + best
    slack[-1] = -best
    slack[-1, classes.alone] = np.inf
    # Rounding may put the best option a little above 0 and must not strike it out.
    slack -= slack.min(axis=0)
    return slack


def best_within(
    classes: Classes, at: DualResponse, slack: FloatArray, window: float, deviation: int
) -> Choice | None:
    """The cheapest choice of deviation ≤ D among options of slack ≤ τ; None if there is none.

    Costs are counted in slacks, as φ(λ) + Σ slack·x + (D / 2)·(max λ - min λ) - Σ λ_k δ_k, and in
    units of τ: the differences that matter are then not below the solver's tolerances.
    """
    is_open = (slack <= window) & np.isfinite(slack)
    available = classes.size.copy()
    available[classes.alone] = classes.quota[classes.group[classes.alone]]
    undecided = np.count_nonzero(is_open, axis=0) > 1
    amounts = np.where(is_open & ~undecided, available, 0)
    option, index = np.nonzero(is_open[:, undecided])
    of = np.flatnonzero(undecided)[index]

    unit = max(window, SMALLEST_UNIT)
    cost = np.concatenate([slack[option, of], -at.prices, at.prices]) / unit
    milp = scipy.optimize.milp
    if len(cost) > MOST_VARIABLES_IN_THREAD:
        milp = partial(call_in_process, milp)
    checkpoint()
    result = milp(
        cost,
        integrality=np.ones(len(cost)),
        bounds=scipy.optimize.Bounds(0, np.inf),
        constraints=[
            _each_class_is_used_up(index, available[undecided], classes.categories),
            _groups_meet_their_quota(classes, amounts, option, of),
            _deviation_is_excess(classes, amounts, option, of),
            _deviation_is_at_most(deviation, len(of), classes.categories),
        ],
        options={"mip_rel_gap": 0, "node_limit": MOST_NODES},
    )
    if result.x is None:
        return None
    amounts[option, of] = np.rint(result.x[: len(of)]).astype(np.int64)
    settled_at = at.bound + deviation / 2 * float(np.ptp(at.prices))
    return Choice(
        amounts[:-1],
        cost=settled_at + unit * float(result.fun),
        bound=settled_at + unit * float(result.mip_dual_bound),
    )


def _each_class_is_used_up(
    index: IntArray, available: IntArray, categories: int
) -> scipy.optimize.LinearConstraint:
    """Σ of a class's options = its records."""
    columns = np.arange(len(index))
    shape = (len(available), len(index) + 2 * categories)
    used = coo_array((np.ones(len(index)), (index, columns)), shape=shape).tocsr()
    return scipy.optimize.LinearConstraint(used, available, available)


def _groups_meet_their_quota(
    classes: Classes, settled: IntArray, option: IntArray, of: IntArray
) -> scipy.optimize.LinearConstraint:
    """Σ changes of a group = its quota, less what is settled; only groups with a choice."""
    groups, row = np.unique(classes.group[of], return_inverse=True)
    changes = np.bincount(classes.group, settled[:-1].sum(axis=0), len(classes.quota))
    missing = classes.quota[groups] - changes[groups]
    is_change = option < classes.categories
    columns = np.flatnonzero(is_change)
    matrix = coo_array(
        (np.ones(len(columns)), (row[columns], columns)),
        shape=(len(groups), len(of) + 2 * classes.categories),
    )
    return scipy.optimize.LinearConstraint(matrix.tocsr(), missing, missing)


def _deviation_is_excess(
    classes: Classes, settled: IntArray, option: IntArray, of: IntArray
) -> scipy.optimize.LinearConstraint:
    """arrivals - departures = δ⁺ - δ⁻ in every category."""
    categories = classes.categories
    changes = np.flatnonzero(option < categories)
    ones = np.ones(len(changes))
    shape = (categories, len(of))
    excess = coo_array((ones, (option[changes], changes)), shape) - coo_array(
        (ones, (classes.home[of[changes]], changes)), shape
    )
    arrived = settled[:-1].sum(axis=1)
    left = np.bincount(classes.home, settled[:-1].sum(axis=0), categories)
    identity = eye_array(categories)
    return scipy.optimize.LinearConstraint(
        hstack([excess, -identity, identity]).tocsr(), left - arrived, left - arrived
    )


def _deviation_is_at_most(
    deviation: int, options: int, categories: int
) -> scipy.optimize.LinearConstraint:
    """Σ (δ⁺ + δ⁻) ≤ D."""
    row = np.repeat([0.0, 1.0], [options, 2 * categories])
    return scipy.optimize.LinearConstraint(csr_array(row[None, :]), 0, deviation)


LARGEST_CORE = 20_000
ROUNDING, ROUNDING_PER_RECORD = 1e-9, 1e-13
"""What the sums of a bound and of an objective over n records may differ by without meaning it."""


@dataclass(frozen=True)
class Optimum:
    """New values of the n records; `bound` ≤ every admissible objective of deviation ≤ `deviation`.

    `gap` = objective - bound is 0 when the values are proven optimal, up to rounding.
    """

    values: IntArray
    objective: float
    bound: float
    deviation: int

    @property
    def gap(self) -> float:
        return self.objective - self.bound


def optimal_values(
    problem: SwapProblem,
    rng: np.random.Generator,
    *,
    deviation: int | None = None,
    first_core: int = 64,
) -> Optimum:
    """The cheapest values under (C1) and (C2) whose marginal deviates by at most `deviation`.

    Departs from [li2004, phases I and II]: the marginal is kept over U and V together, and both
    phases are one problem. Without `deviation` it is the smallest possible; ValueError if smaller.
    Time O(C·n) for each of some 10·C steps. `rng` draws among records that are exactly alike.
    `first_core` is how many classes the first core opens; the optimum does not depend on it.
    """
    smallest = smallest_deviation(problem)
    allowed = smallest if deviation is None else deviation
    if allowed < smallest:
        raise ValueError("no choice of records has so small a deviation")
    if not len(problem.home):
        return Optimum(problem.home.copy(), 0.0, 0.0, allowed)
    classes = classes_of(problem)
    at = best_response(classes, allowed)
    amounts, bound = _certified(classes, at, allowed, first_core)
    values = spread_over_records(classes, amounts, rng)
    cost = objective(problem, values)
    if cost - bound <= max(ROUNDING, ROUNDING_PER_RECORD * len(values)):
        bound = cost
    return Optimum(values, cost, bound, allowed)


def _certified(
    classes: Classes, at: DualResponse, deviation: int, first_core: int
) -> tuple[IntArray, float]:
    """The best choice that the core yields, and a bound below every choice.

    The first window opens a few classes and is widened until there is a choice at all. Its cost then
    says which window suffices for the proof: an option of larger slack cannot be part of a better
    choice. Should that core be too large to solve, the first choice stands with an honest bound.
    """
    slack = slacks(classes, at)
    indifference = np.partition(slack, 1, axis=0)[1]
    indifference = np.sort(indifference[np.isfinite(indifference)])
    everything = float(slack[np.isfinite(slack)].max())
    core = first_core
    while True:
        window = float(indifference[core]) if core < len(indifference) else everything
        choice = best_within(classes, at, slack, window, deviation)
        if choice is not None:
            break
        if window >= everything:
            raise ValueError("the deviation allowed admits no choice")
        core = 8 * core + 8
    needed = choice.cost - at.bound
    if needed <= window:
        return choice.amounts, choice.bound
    honest = min(choice.bound, at.bound + window)
    if np.searchsorted(indifference, needed, side="right") > LARGEST_CORE:
        return choice.amounts, honest
    wider = best_within(classes, at, slack, needed, deviation)
    if wider is None:  # the limit of nodes was met before any choice
        return choice.amounts, honest
    return min(choice, wider, key=lambda found: found.cost).amounts, wider.bound
