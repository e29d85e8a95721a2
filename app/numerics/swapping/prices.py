"""Prices that maximise the dual, by cutting planes within a trust region.

φ lies below the plane of every response seen, φ'(λ') + s'·(λ - λ') less the term in D, which is kept
exact. The minimum of the planes is maximised within a box around the best prices known; the box grows
when its border stops a good step and shrinks when a step was bad.

| symbol | name | meaning |
|---|---|---|
| λ | `prices` | one per category, λ_0 = 0 |
| s | `slope` | arrivals minus departures at the prices of the plane |
| φ(λ) + (D / 2)·(max λ - min λ) | `height` | what a plane touches |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from app.numerics.arrays import FloatArray
from app.numerics.swapping.classes import Classes
from app.numerics.swapping.dual import Response, response

MOST_STEPS = 1_000
ROUNDING = 1e-10


class Plane(NamedTuple):
    """A plane above the concave part of φ, by the point at which it touches."""

    prices: FloatArray
    height: float
    slope: FloatArray


def best_response(classes: Classes, deviation: int) -> Response:
    """The response at prices that maximise φ.

    The end is reached when the planes promise no more than rounding: then φ is at its maximum.
    Should `MOST_STEPS` not suffice, the bound is lower, but a bound all the same.
    """
    best = response(classes, deviation, np.zeros(classes.categories))
    planes = [_plane(best, deviation)]
    radius, widest = 0.25, 8.0 * classes.categories
    for _ in range(MOST_STEPS):
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


def _plane(at: Response, deviation: int) -> Plane:
    return Plane(at.prices, at.bound + deviation / 2 * float(np.ptp(at.prices)), at.excess)


def _best_step(
    planes: list[Plane], best: Response, deviation: int, radius: float
) -> tuple[FloatArray, float]:
    """Where in the box the planes promise most: the step in radii, shape (C,), and the promise.

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
    result = linprog(cost, A_ub=matrix, b_ub=limits, bounds=bounds, method="highs")
    if result.x is None:  # step 0 is always feasible: only a fault of ours gets here
        raise ValueError(f"the planes were not solved: {result.message}")
    return result.x[:categories], -float(result.fun) * unit
