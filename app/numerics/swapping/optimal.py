"""The optimum of Σ d under (C1), (C2) and the kept marginal, with its certificate [li2004, problem 12].

Prices first (`prices`), then the few records that the prices leave open (`core`), then the window that
the difference of the two asks for, until no choice outside the core can be better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import IntArray
from app.numerics.swapping.classes import Classes, classes_of, spread_over_records
from app.numerics.swapping.core import best_within, slacks
from app.numerics.swapping.dual import Response
from app.numerics.swapping.prices import best_response
from app.numerics.swapping.problem import Problem, objective, smallest_deviation

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
    problem: Problem,
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
    classes: Classes, at: Response, deviation: int, first_core: int
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
