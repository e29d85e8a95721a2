"""Lagrangian dual of the swapping problem: bounds on the optimum, and the best prices of categories.

Given prices λ, sending a record from its category t to k costs a = d(t, k) + λ_k - λ_t, and every
group changes the records for which min_k a is smallest, as many as its quota says. The sum

    φ(λ) = Σ_groups Σ_{quota cheapest} min_k a - (D / 2)·(max λ - min λ)

is at most the objective of every admissible choice of deviation ≤ D: summed over such a choice the
prices add Σ_k λ_k·(arrivals - departures) ≤ (D / 2)·(max λ - min λ). φ is concave and piecewise
linear, the arrivals minus the departures of the cheapest choice are a supergradient of its sum.

| symbol | name | meaning |
|---|---|---|
| λ_k | `prices[k]` | price of category k; λ_0 = 0, since only differences matter |
| D | `deviation` | Σ_k \\|arrivals - departures\\| allowed |
| v_j | `value[j]` | cost of changing one record of class j, prices included |
| w_j | `size[j]` | records of class j |
| q_g | `quota[g]` | changes that group g makes |
| μ_g | `threshold[g]` | between the dearest change that group g still makes and the cheapest that it does not |
| s | `slope` | arrivals minus departures at the prices of a plane |
| φ(λ) + (D / 2)·(max λ - min λ) | `height` | what a plane touches |

The price "kept" of U that the paper's constraint (C1) suggests needs no search: it is the threshold
μ_0, the quota-th smallest value.

The cheapest changes of a group are found without sorting U. Prices that maximise the dual are found by cutting
planes within a trust region. φ lies below the plane of every response seen, φ'(λ') + s'·(λ - λ') less the term in
D, which is kept exact. The minimum of the planes is maximised within a box around the best prices known; the box
grows when its border stops a good step and shrinks when a step was bad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from app.numerics.arrays import FloatArray, IntArray
from app.numerics.cancellation import checkpoint
from app.numerics.swapping.classes import Classes


def cheapest_changes(classes: Classes, value: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return how many of each class change when every group takes its cheapest, and μ per group.

    Shapes (m,) and (G + 1,). Any μ_g between the dearest change that is made and the cheapest that
    is not serves; halfway, both are as far from indifference as they can be. Where a group makes no
    change it is -∞.
    """
    amount = np.zeros(len(value), dtype=np.int64)
    threshold = np.full(len(classes.quota), -np.inf)
    quota = int(classes.quota[0])
    if quota and classes.unique.stop:
        amount[classes.unique], threshold[0] = _cheapest_of_one(
            value[classes.unique], classes.size[classes.unique], quota
        )

    group = classes.group[classes.alone]
    amount[classes.alone] = classes.quota[group]
    threshold[group] = value[classes.alone]

    group = classes.group[classes.contested]
    if len(group):
        by_value = np.lexsort((value[classes.contested], group))
        ordered = value[classes.contested][by_value]
        size = classes.size[classes.contested][by_value]
        before = np.cumsum(size) - size
        before -= before[np.searchsorted(group, group)]
        taken = np.clip(classes.quota[group] - before, 0, size)
        amount[classes.contested][by_value] = taken
        groups, start = np.unique(group, return_index=True)
        threshold[groups] = _halfway(
            np.maximum.reduceat(np.where(taken > 0, ordered, -np.inf), start),
            np.minimum.reduceat(np.where(taken < size, ordered, np.inf), start),
        )
    return amount, threshold


def _cheapest_of_one(value: FloatArray, size: IntArray, quota: int) -> tuple[IntArray, FloatArray]:
    """The same for one large group in O(m): classes below the quota's value whole, those at it in part."""
    dearest = weighted_order_statistic(value, size, quota)
    amount = np.where(value < dearest, size, 0)
    at = np.flatnonzero(value == dearest)
    before = np.cumsum(size[at]) - size[at]
    amount[at] = np.clip(quota - int(amount.sum()) - before, 0, size[at])
    cheapest = value[amount < size].min(initial=np.inf)
    return amount, _halfway(dearest, cheapest)


def weighted_order_statistic(value: FloatArray, size: IntArray, rank: int) -> float:
    """The smallest t with Σ size[value ≤ t] ≥ rank, for 1 ≤ rank ≤ Σ size, in O(m).

    Quickselect by partitions at the expected place, so that two or three passes do.
    """
    while True:
        place = min(len(value) * rank // int(size.sum()), len(value) - 1)
        pivot = float(np.partition(value, place)[place])
        is_below = value < pivot
        below = int(size[is_below].sum())
        if below >= rank:
            value, size = value[is_below], size[is_below]
            continue
        is_above = value > pivot
        up_to = int(size.sum()) - int(size[is_above].sum())
        if up_to >= rank:
            return pivot
        value, size, rank = value[is_above], size[is_above], rank - up_to


def _halfway(dearest: npt.ArrayLike, cheapest: npt.ArrayLike) -> FloatArray:
    """Between the two; where all change the second is +∞ and anything above the first will do."""
    dearest, cheapest = np.asarray(dearest), np.asarray(cheapest)
    return np.where(np.isinf(cheapest), dearest + 1.0, (dearest + cheapest) / 2)


BLOCK = 32_768


@dataclass(frozen=True)
class DualResponse:
    """The cheapest choice at given prices and what it says about the optimum.

    `bound` is φ(λ); `target[j]` the cheapest category of class j, `value[j]` its cost under the
    prices, `amount[j]` how many of the class change; `threshold[g]` is μ_g; `excess[k]` is arrivals
    minus departures.
    """

    prices: FloatArray
    bound: float
    target: IntArray
    value: FloatArray
    amount: IntArray
    threshold: FloatArray
    excess: FloatArray


def response(classes: Classes, deviation: int, prices: FloatArray) -> DualResponse:
    """φ(λ) with everything that attains it, in O(C·m)."""
    target = np.empty(len(classes.home), dtype=np.int64)
    value = np.empty(len(classes.home))
    for start in range(0, len(value), BLOCK):  # in blocks that fit the processor's cache
        block = slice(start, start + BLOCK)
        reduced = classes.cost[:, block] + prices[:, None]
        np.argmin(reduced, axis=0, out=target[block])
        np.min(reduced, axis=0, out=value[block])
    value -= prices[classes.home]
    amount, threshold = cheapest_changes(classes, value)
    weight = amount.astype(np.float64)
    excess = np.bincount(target, weight, classes.categories).astype(np.float64)
    excess -= np.bincount(classes.home, weight, classes.categories)
    # A sum and not a product of vectors: it adds in pairs, and BLAS would spin up threads each time.
    total = float(np.sum(weight * value))
    bound = total - deviation / 2 * float(np.ptp(prices))
    return DualResponse(prices, bound, target, value, amount, threshold, excess)


MOST_STEPS = 1_000
ROUNDING = 1e-10


class Plane(NamedTuple):
    """A plane above the concave part of φ, by the point at which it touches."""

    prices: FloatArray
    height: float
    slope: FloatArray


def best_response(classes: Classes, deviation: int) -> DualResponse:
    """The response at prices that maximise φ.

    The end is reached when the planes promise no more than rounding: then φ is at its maximum.
    Should `MOST_STEPS` not suffice, the bound is lower, but a bound all the same.
    """
    best = response(classes, deviation, np.zeros(classes.categories))
    planes = [_plane(best, deviation)]
    radius, widest = 0.25, 8.0 * classes.categories
    for _ in range(MOST_STEPS):
        checkpoint()
        step, promise = _best_step(planes, best, deviation, radius)
        at_border = np.abs(step).max() >= 1 - 1e-6
        if promise <= ROUNDING * max(1.0, abs(best.bound)):
            if not at_border or radius >= widest:
                break
            # Little is promised because the box is small, or because the prices do not matter.
            radius = min(8 * radius, widest)
            continue
        trial = response(classes, deviation, best.prices + radius * step)
        planes.append(_plane(trial, deviation))
        gain = trial.bound - best.bound
        if gain >= 0.5 * promise and at_border:
            radius = min(2 * radius, widest)
        elif gain < 0.1 * promise:
            radius /= 2
        if gain > 0:
            best = trial
    return best


def _plane(at: DualResponse, deviation: int) -> Plane:
    return Plane(at.prices, at.bound + deviation / 2 * float(np.ptp(at.prices)), at.excess)


def _best_step(
    planes: list[Plane], best: DualResponse, deviation: int, radius: float
) -> tuple[FloatArray, float]:
    """Best step within the box by the cutting planes: in radii, shape (C,), and its predicted value.

    Maximise z - (D / 2)·(h - l) over the step and z, h, l with z ≤ every plane and l ≤ λ ≤ h. All is
    measured from the best prices and in units of the box, because at 10⁶ records the planes differ
    in the eleventh digit only.
    """
    categories = len(best.prices)
    here = _plane(best, deviation).height
    slopes = np.array([plane.slope for plane in planes])
    above = np.array(
        [plane.height - here + plane.slope @ (best.prices - plane.prices) for plane in planes]
    )
    unit = radius * max(1.0, float(np.abs(slopes).max()), deviation / 2)
    identity, each, none = np.eye(categories), np.ones((categories, 1)), np.zeros((categories, 1))
    z = np.ones((len(planes), 1))
    matrix = np.block(
        [
            [-radius / unit * slopes, z, 0 * z, 0 * z],
            [identity, none, -each, none],
            [-identity, none, none, each],
        ]
    )
    limits = np.concatenate(
        [
            above / unit,
            (best.prices.max() - best.prices) / radius,
            (best.prices - best.prices.min()) / radius,
        ]
    )
    weight = deviation / 2 * radius / unit
    cost = np.concatenate([np.zeros(categories), [-1.0, weight, -weight]])
    bounds = [(0, 0)] + [(-1, 1)] * (categories - 1) + [(None, None)] * 3
    result = scipy.optimize.linprog(cost, A_ub=matrix, b_ub=limits, bounds=bounds, method="highs")
    if result.x is None:  # step 0 is always feasible: only a fault of ours gets here
        raise ValueError(f"the planes were not solved: {result.message}")
    return result.x[:categories], -float(result.fun) * unit
