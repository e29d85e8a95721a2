"""Swap of one or several confidential attributes, codes to codes [li2004].

| symbol | name | meaning |
|---|---|---|
| x | `attributes` | J arrays of N codes 0 …: what an intruder may know |
| y | `confidential` | arrays of N codes 0 … C - 1, swapped in turn |
| p | `proportion` | share of U that changes (C1) |

With several confidential attributes each is swapped given those before it: they join the attributes
on which the posterior is conditional, as swapped, so that the joint distribution of the confidential
attributes is kept, too. They do not join the pattern that identifies: an intruder knows x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import IntArray
from app.numerics.swapping.identifiability import UNIDENTIFIABLE, Identifiability, identifiability
from app.numerics.swapping.optimal import optimal_values
from app.numerics.swapping.problem import (
    GroupQuota,
    SwapProblem,
    deviation,
    identifiable_groups,
    naive_bayes_posterior,
    objective,
    quotas,
    smallest_deviation,
)
from app.numerics.swapping.published import first_values, random_values, swept_values

Method = Literal["optimal", "greedy", "random"]

LARGEST_PROBLEM = 20_000_000
"""Identifiable records times categories: the posterior then takes 160 MB, the search a few times that."""
MOST_CATEGORIES = 250
"""With more, the search for prices takes minutes."""
LARGEST_GREEDY = 30_000
"""Identifiable records whose pairs the published method looks through in a minute or two."""
MOST_GREEDY_CATEGORIES = 20
"""The published method looks at pairs of pairs of categories."""


@dataclass(frozen=True)
class SwapPolicy:
    """Policy of a swap: share to change, method, estimate.

    `allowed_deviation` is the deviation of the marginal that `optimal` may use to lower the
    objective; where (C1) and (C2) force more, the smallest possible is used.
    """

    proportion: float = 0.5
    method: Method = "optimal"
    group_quota: GroupQuota = field(default_factory=GroupQuota)
    smoothing: float = 0.0
    allowed_deviation: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.proportion <= 1:
            raise InvalidParameter(
                "The proportion must be above 0 and at most 1.", parameter="proportion"
            )


@dataclass(frozen=True)
class AttributeSwap:
    """One confidential attribute after the swap, and what the swap did.

    `values` has shape (N,). `phase_one` is the objective after phase I (greedy only); `bound` is the
    certified lower bound (optimal only). `smallest_deviation` is what (C1) and (C2) force.
    """

    values: IntArray
    before: Identifiability
    after: Identifiability
    changed: int
    still_disclosed: int
    deviation: int
    smallest_deviation: int
    objective: float
    phase_one: float | None = None
    bound: float | None = None

    @property
    def gap(self) -> float | None:
        """Upper bound of the objective's distance from the optimum; 0 is proven optimal."""
        return None if self.bound is None else self.objective - self.bound


def swapped_in_turn(
    confidential: Sequence[IntArray],
    attributes: Sequence[IntArray],
    policy: SwapPolicy,
    rng: np.random.Generator,
) -> list[AttributeSwap]:
    """Every confidential attribute swapped, each given the ones before it as swapped."""
    swaps: list[AttributeSwap] = []
    for values in confidential:
        given = [*attributes, *(swap.values for swap in swaps)]
        swaps.append(swapped(values, attributes, given, policy, rng))
    return swaps


def swapped(
    confidential: IntArray,
    identifying: Sequence[IntArray],
    given: Sequence[IntArray],
    policy: SwapPolicy,
    rng: np.random.Generator,
) -> AttributeSwap:
    """One confidential attribute swapped: identified by `identifying`, posterior given `given`.

    Codes are 0 … C - 1 and each occurs. InvalidTable for a constant attribute and for a problem
    beyond the limits above; InvalidParameter for two categories with proportion 1: an attribute
    whose values are all flipped hides nothing.
    """
    categories = int(confidential.max(initial=-1)) + 1
    if categories < 2:
        raise InvalidTable("A confidential attribute needs at least two categories.")
    if categories == 2 and policy.proportion == 1:
        raise InvalidParameter(
            "With two categories the proportion must be below 1: "
            "when every value is flipped, flipping them back reveals all.",
            parameter="proportion",
        )
    before = identifiability(confidential, identifying)
    records, group = identifiable_groups(before)
    _require_manageable(len(records), categories, policy.method)
    problem = SwapProblem(
        home=confidential[records],
        posterior=naive_bayes_posterior(
            confidential, categories, given, records, smoothing=policy.smoothing
        ),
        group=group,
        quota=quotas(before, categories, policy.proportion, policy.group_quota),
    )
    forced = smallest_deviation(problem)
    phase_one = bound = None
    if policy.method == "optimal":
        allowed = max(forced, policy.allowed_deviation)
        optimum = optimal_values(problem, rng, deviation=allowed)
        chosen, bound = optimum.values, optimum.bound
    elif policy.method == "greedy":
        first = first_values(problem, rng)
        phase_one = objective(problem, first)
        chosen = swept_values(problem, first)
    else:
        chosen = random_values(problem, np.bincount(confidential, minlength=categories), rng)
    values = confidential.copy()
    values[records] = chosen
    after = identifiability(values, identifying)
    kept = (after.status != UNIDENTIFIABLE) & (values == confidential)
    return AttributeSwap(
        values=values,
        before=before,
        after=after,
        changed=int(np.count_nonzero(values != confidential)),
        still_disclosed=int(np.count_nonzero(kept)),
        deviation=deviation(confidential, values, categories),
        smallest_deviation=forced,
        objective=objective(problem, chosen),
        phase_one=phase_one,
        bound=bound,
    )


def _require_manageable(records: int, categories: int, method: Method) -> None:
    most = MOST_GREEDY_CATEGORIES if method == "greedy" else MOST_CATEGORIES
    if categories > most:
        raise InvalidTable(
            f"The method {method} takes up to {most} categories; merge some first.",
            categories=categories,
            limit=most,
        )
    if records * categories > LARGEST_PROBLEM:
        raise InvalidTable(
            "Too many identifiable records times categories; merge categories first.",
            identifiable=records,
            categories=categories,
            limit=LARGEST_PROBLEM,
        )
    if method == "greedy" and records > LARGEST_GREEDY:
        raise InvalidParameter(
            "The greedy method looks at all pairs of identifiable records; use method=optimal.",
            parameter="method",
            identifiable=records,
            limit=LARGEST_GREEDY,
        )
