"""Types, bounds and rounding of a column, found in the original and enforced on synthetic values.

Users of synthetic tables expect ages to be whole and shares to stay below one. Each of the three acts
on a value alone, so nothing else of the original gets in; the bounds are the smallest and the largest
original value, which the release thereby tells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray

MOST_DECIMALS = 10
"""A column that needs more decimals is taken as not rounded."""


@dataclass(frozen=True)
class Rule:
    """What the values of one column have in common; `decimals` is None for a column not rounded."""

    least: float
    most: float
    decimals: int | None


def rule_of(values: FloatArray) -> Rule:
    """The rule that `values` (n,), NaN for missing, keep. Raises ValueError when none is present."""
    present = values[~np.isnan(values)]
    if not present.size:
        raise ValueError("a column without values has no rule")
    return Rule(float(present.min()), float(present.max()), _decimals(present))


def enforced(values: FloatArray, rule: Rule) -> FloatArray:
    """`values` (n,) rounded and kept within bounds; the bounds themselves are rounded already."""
    rounded = values if rule.decimals is None else np.round(values, rule.decimals)
    return np.clip(rounded, rule.least, rule.most)


def _decimals(present: FloatArray) -> int | None:
    # A few values rule out most candidates; the first one that fits them all is the answer.
    for decimals in range(MOST_DECIMALS + 1):
        if all(np.array_equal(np.round(part, decimals), part) for part in (present[:100], present)):
            return decimals
    return None
