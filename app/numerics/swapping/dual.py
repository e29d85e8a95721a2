"""The dual of the swapping problem: what one price per category tells about the optimum.

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
| μ_g | `threshold` | price of the dearest change that group g still makes |

The price "kept" of U that the paper's constraint (C1) suggests needs no search: it is the threshold
μ_0, the quota-th smallest value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.numerics.swapping.classes import Classes

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

BLOCK = 32_768


@dataclass(frozen=True)
class Response:
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


def response(classes: Classes, deviation: int, prices: FloatArray) -> Response:
    """φ(λ) with everything that attains it, in O(C·m)."""
    target = np.empty(len(classes.home), dtype=np.int64)
    value = np.empty(len(classes.home))
    for start in range(0, len(value), BLOCK):  # in blocks that fit the processor's cache
        block = slice(start, start + BLOCK)
        reduced = classes.cost[:, block] + prices[:, None]
        np.argmin(reduced, axis=0, out=target[block])
        np.min(reduced, axis=0, out=value[block])
    value -= prices[classes.home]
    amount, threshold = _cheapest(classes, value)
    weight = amount.astype(np.float64)
    excess = np.bincount(target, weight, classes.categories).astype(np.float64)
    excess -= np.bincount(classes.home, weight, classes.categories)
    spread = deviation / 2 * float(np.ptp(prices))
    return Response(
        prices, float(weight @ value) - spread, target, value, amount, threshold, excess
    )


def _cheapest(classes: Classes, value: FloatArray) -> tuple[IntArray, FloatArray]:
    """How many of each class its group changes when it takes the cheapest, and μ per group.

    Any μ_g between the dearest change that is made and the cheapest that is not serves; halfway,
    both are as far from indifference as they can be. Where no change is made it is -∞.
    """
    amount = np.zeros(len(value), dtype=np.int64)
    threshold = np.full(len(classes.quota), -np.inf)

    of_unique, quota = value[classes.single], int(classes.quota[0])
    if quota and len(of_unique):
        # One partition instead of a sort: U holds nearly all classes of a large table.
        following = min(quota, len(of_unique) - 1)
        order = np.argpartition(of_unique, [quota - 1, following])
        amount[classes.single][order[:quota]] = 1
        cheapest = of_unique[order[quota : quota + 1]].min(initial=np.inf)
        threshold[0] = _halfway(of_unique[order[quota - 1]], cheapest)

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


def _halfway(dearest: npt.ArrayLike, cheapest: npt.ArrayLike) -> FloatArray:
    """Between the two; where all change the second is +∞ and anything above the first will do."""
    dearest, cheapest = np.asarray(dearest), np.asarray(cheapest)
    return np.where(np.isinf(cheapest), dearest + 1.0, (dearest + cheapest) / 2)
