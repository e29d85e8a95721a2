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

from app.numerics.arrays import FloatArray, IntArray
from app.numerics.swapping.classes import Classes
from app.numerics.swapping.selection import cheapest_changes

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
    amount, threshold = cheapest_changes(classes, value)
    weight = amount.astype(np.float64)
    excess = np.bincount(target, weight, classes.categories).astype(np.float64)
    excess -= np.bincount(classes.home, weight, classes.categories)
    # A sum and not a product of vectors: it adds in pairs, and BLAS would spin up threads each time.
    total = float(np.sum(weight * value))
    bound = total - deviation / 2 * float(np.ptp(prices))
    return Response(prices, bound, target, value, amount, threshold, excess)
