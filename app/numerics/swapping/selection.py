"""The cheapest changes of every group, as many as its quota says, without sorting U.

| symbol | name | meaning |
|---|---|---|
| v_j | `value[j]` | cost of changing one record of class j, prices included |
| w_j | `size[j]` | records of class j |
| q_g | `quota[g]` | changes that group g makes |
| μ_g | `threshold[g]` | between the dearest change that is made and the cheapest that is not |
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.numerics.arrays import FloatArray, IntArray
from app.numerics.swapping.classes import Classes


def cheapest_changes(classes: Classes, value: FloatArray) -> tuple[IntArray, FloatArray]:
    """How many of each class change when every group takes its cheapest, and μ per group.

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
