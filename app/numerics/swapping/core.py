"""What the prices leave open, solved as a small integer program.

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

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, eye_array, hstack

from app.numerics.arrays import FloatArray, IntArray
from app.numerics.swapping.classes import Classes
from app.numerics.swapping.dual import Response

MOST_NODES = 100_000
SMALLEST_UNIT = 1e-9


@dataclass(frozen=True)
class Choice:
    """How many of class j change to k, `amounts[k, j]`; what that costs, and a bound within the core."""

    amounts: IntArray
    cost: float
    bound: float


def slacks(classes: Classes, at: Response) -> FloatArray:
    """How much dearer each option is than the best of its class. Shape (C + 1, m); last row: to stay.

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
    classes: Classes, at: Response, slack: FloatArray, window: float, deviation: int
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
    result = milp(
        cost,
        integrality=np.ones(len(cost)),
        bounds=Bounds(0, np.inf),
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
) -> LinearConstraint:
    """Σ of a class's options = its records."""
    columns = np.arange(len(index))
    shape = (len(available), len(index) + 2 * categories)
    used = coo_array((np.ones(len(index)), (index, columns)), shape=shape).tocsr()
    return LinearConstraint(used, available, available)


def _groups_meet_their_quota(
    classes: Classes, settled: IntArray, option: IntArray, of: IntArray
) -> LinearConstraint:
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
    return LinearConstraint(matrix.tocsr(), missing, missing)


def _deviation_is_excess(
    classes: Classes, settled: IntArray, option: IntArray, of: IntArray
) -> LinearConstraint:
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
    return LinearConstraint(
        hstack([excess, -identity, identity]).tocsr(), left - arrived, left - arrived
    )


def _deviation_is_at_most(deviation: int, options: int, categories: int) -> LinearConstraint:
    """Σ (δ⁺ + δ⁻) ≤ D."""
    row = np.repeat([0.0, 1.0], [options, 2 * categories])
    return LinearConstraint(csr_array(row[None, :]), 0, deviation)
