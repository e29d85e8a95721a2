"""Swapping problem: constraints and cost [li2004, constraints (C1), (C2), eqs. 1a, 10 and 11].

| symbol | name | meaning |
|---|---|---|
| y | `confidential` | N codes 0 … C - 1 |
| x_j | `attributes[j]` | N codes 0 … of one non-confidential attribute |
| α | `smoothing` | Laplace pseudo-count added to every cell; 0 is the paper |
| t_i | `home[i]` | true category of identifiable record i |
| p(k \\| x_i) | `posterior[i, k]` | naive Bayes posterior (10): probability of category k for the pattern of record i |
| U, V_1 … V_G | `group[i]` | 0 for a record of U, 1 … G for the groups of V |
| p·\\|U\\|, q_g | `quota[g]` | how many records of the group must change |
| Σ(s⁻ + s⁺) | deviation | Σ_k \\|records that come to k - records that leave k\\| |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.numerics.arrays import Flags, FloatArray, IntArray
from app.numerics.swapping.identifiability import (
    COLLECTIVE,
    UNIDENTIFIABLE,
    UNIQUE,
    Identifiability,
)


def naive_bayes_posterior(
    confidential: IntArray,
    categories: int,
    attributes: Sequence[IntArray],
    records: IntArray,
    *,
    smoothing: float = 0.0,
) -> FloatArray:
    """p(k | x_i) ∝ p(k) Π_j p(x_ij | k) for the chosen records. Shape (len(records), C), rows sum to 1.

    The estimates p come from all N records: p(k) = (N_k + α) / (N + αC) and
    p(x | k) = (N_kx + α) / (N_k + α·|x_j|). Logarithms keep a product over many attributes from
    vanishing. Without smoothing a row is still well defined, because the category that a record
    has is possible for it; ValueError if smoothing is negative.
    """
    if smoothing < 0:
        raise ValueError("smoothing must not be negative")
    totals = np.bincount(confidential, minlength=categories).astype(np.float64)
    logarithm = np.empty((categories, len(records)))
    # A category that no record has, or a value it never meets, has probability 0: log 0 = -inf.
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = (totals + smoothing) / (totals.sum() + smoothing * categories)
        logarithm[:] = np.log(prior)[:, None]
        for codes in attributes:
            values = int(codes.max(initial=0)) + 1
            counts = np.bincount(confidential * values + codes, minlength=categories * values)
            likelihood = (counts.reshape(categories, values) + smoothing) / (
                totals + smoothing * values
            )[:, None]
            logarithm += np.log(np.nan_to_num(likelihood))[:, codes[records]]
    logarithm -= logarithm.max(axis=0)
    weight = np.exp(logarithm)
    weight /= weight.sum(axis=0)
    return np.ascontiguousarray(weight.T)


@dataclass(frozen=True)
class SwapProblem:
    """n identifiable records, their posteriors, and how many of each group must change."""

    home: IntArray
    posterior: FloatArray
    group: IntArray
    quota: IntArray

    @property
    def categories(self) -> int:
        """C."""
        return int(self.posterior.shape[1])

    def changed(self, values: IntArray) -> Flags:
        """Return which records have another category than their own under `values`, shape (n,)."""
        moved: Flags = values != self.home
        return moved


@dataclass(frozen=True)
class GroupQuota:
    """How many members of each collectively identifiable group change: a number or a proportion."""

    number: int | None = 1
    proportion: float | None = None

    def __post_init__(self) -> None:
        if (self.number is None) == (self.proportion is None):
            raise ValueError("either a number or a proportion must be given")

    def of(self, size: IntArray) -> IntArray:
        """The quota of groups of the given sizes.

        At least one member changes and at least one does not: a group that shows two values is no
        longer identifiable (C2), while one changed as a whole could be again.
        """
        if self.proportion is not None:
            wanted = _rounded_half_up(self.proportion * size)
        else:
            wanted = np.full_like(size, self.number)
        return np.clip(wanted, 1, size - 1)


def quotas(
    found: Identifiability, categories: int, proportion: float, group_quota: GroupQuota
) -> IntArray:
    """Changes demanded of U and of each group of V. Shape (G + 1,).

    U: p·|U| (C1), rounded half up. Departs from [li2004, eq. 1b]: with two categories at least one
    record of U stays, since an attribute whose every value is flipped can be flipped back.
    """
    unique = found.unique
    of_unique = int(_rounded_half_up(np.array(proportion * unique)))
    if categories == 2:
        of_unique = min(of_unique, max(unique - 1, 0))
    size = np.bincount(found.group[found.status == COLLECTIVE], minlength=found.groups)
    return np.concatenate([[of_unique], group_quota.of(size.astype(np.int64))])


def identifiable_groups(found: Identifiability) -> tuple[IntArray, IntArray]:
    """The identifiable records, in order, and for each 0 (in U) or 1 + its group in V."""
    records = np.flatnonzero(found.status != UNIDENTIFIABLE)
    group = np.where(found.status == UNIQUE, 0, found.group + 1)[records]
    return records, group


def objective(problem: SwapProblem, values: IntArray) -> float:
    """Σ_i d_i(t_i, r_i), eq. 12a, over the n records; an unchanged record adds 0."""
    row = np.arange(len(values))
    return float(np.sum(problem.posterior[row, problem.home] - problem.posterior[row, values]))


def deviation(before: IntArray, after: IntArray, categories: int) -> int:
    """Σ_k |N_k before - N_k after|, the Σ(s⁻ + s⁺) of eq. 1a."""
    return int(
        np.abs(
            np.bincount(after, minlength=categories) - np.bincount(before, minlength=categories)
        ).sum()
    )


def smallest_deviation(problem: SwapProblem) -> int:
    """The smallest deviation that any choice under (C1) and (C2) can have.

    Let T records change and o_k of them leave k. Arrivals i_k come from other categories, which is
    possible exactly when o_k + i_k ≤ T for all k. Hence a category that loses more than half of T
    loses at least 2·o_k - T on balance, the others gain as much, and no other deviation is forced:
    the answer is 2·max(0, 2·o - T) for the smallest possible o = max_k o_k. V fixes its share of
    o_k; U spreads its quota by filling the categories with the lowest o_k, as far as it has records.
    """
    in_unique = problem.group == 0
    available = np.bincount(problem.home[in_unique], minlength=problem.categories)
    total = int(problem.quota.sum())
    leaving = departures_of_groups(problem)
    spread = int(problem.quota[0])
    lowest = max(int(leaving.max(initial=0)), 0)
    highest = lowest + spread
    while lowest < highest:
        level = (lowest + highest) // 2
        if np.minimum(available, np.maximum(level - leaving, 0)).sum() >= spread:
            highest = level
        else:
            lowest = level + 1
    return 2 * max(0, 2 * lowest - total)


def departures_of_groups(problem: SwapProblem) -> IntArray:
    """Return how many changes (C2) takes out of each category. Shape (C,)."""
    in_groups = problem.group > 0
    home_of_group = np.zeros(len(problem.quota), dtype=np.int64)
    home_of_group[problem.group[in_groups]] = problem.home[in_groups]
    weights = problem.quota[1:].astype(np.float64)
    return np.bincount(home_of_group[1:], weights, problem.categories).astype(np.int64)


def _rounded_half_up(amount: npt.NDArray[np.floating]) -> IntArray:
    # 0.07 · 50 is a little more than 3.5 and 0.29 · 50 a little less than 14.5: decimals are meant.
    return np.floor(np.round(amount, 9) + 0.5).astype(np.int64)
