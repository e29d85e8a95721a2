"""Pairwise association of all columns: change by a copy, and its correction for the noise.

A pair asks for a correlation, η or Cramér's V. Numbers get noise in the shape of the data: Cov(Y) = (1+a)·K, so
that correlations among them stay as they are. A cell of a record is the row's own with q^(5/4), and otherwise a
donor's (`records`), so that

    Cov(Y_j, C') = q^(5/4)·Cov(X_j, C)   and   Var(Y_j) = (1+a)·Var(X_j),

which makes the association of a number with a category (1+a)^(7/4) times smaller than it was. Two categories
are weakened by what the tree of donors does not hold, and by column events.

| here | meaning |
| --- | --- |
| a | `applied_variance` |
| q = 1/(1+a) | the share of records that no record event replaced |
| η | `correlation_ratio`: root of the share of a number's variance between the categories |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import Codes, FloatArray
from app.numerics.cancellation import checkpoint
from app.numerics.utility.association import cramers_v


def attenuation(applied_variance: float) -> float:
    """By how much a copy divides the association of a number with a category."""
    return float((1.0 + applied_variance) ** 1.75)


def corrected(association: float, factor: float) -> float:
    """An association multiplied by the factor, kept within what an association can be."""
    return float(np.clip(association * factor, -1.0, 1.0))


def correlation(first: FloatArray, second: FloatArray) -> float:
    """Pearson's, of (n,) and (n,), where neither is missing; NaN where one of them is constant."""
    both = ~np.isnan(first) & ~np.isnan(second)
    x, y = first[both], second[both]
    if x.size < 2:
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 0 else float("nan")


def correlation_ratio(numbers: FloatArray, codes: Codes) -> float:
    """η of numbers (n,) given categories as codes (n,), less what chance gives; NaN if constant.

    Chance alone makes η² about (k-1)/(n-1) for k categories, which is taken off.
    """
    both = ~np.isnan(numbers)
    values, groups = numbers[both], codes[both]
    centred = values - values.mean() if values.size else values
    total = float(centred @ centred)
    if total <= 0:
        return float("nan")
    counts = np.bincount(groups)
    sums = np.bincount(groups, weights=centred)
    there = counts > 0
    share = float((sums[there] ** 2 / counts[there]).sum()) / total
    chance = (int(there.sum()) - 1) / max(values.size - 1, 1)
    return float(np.sqrt(np.clip((share - chance) / max(1 - chance, 1e-9), 0.0, 1.0)))


@dataclass(frozen=True)
class PairedColumn:
    """A column for its associations: numbers (n,), NaN where missing, or codes (n,) of so many categories."""

    numbers: FloatArray | None
    codes: Codes
    categories: int

    @classmethod
    def of_numbers(cls, numbers: FloatArray) -> PairedColumn:
        return cls(numbers, np.empty(0, np.int32), 0)

    @classmethod
    def of_codes(cls, codes: Codes, categories: int) -> PairedColumn:
        return cls(None, codes, categories)


def associations(columns: Sequence[PairedColumn]) -> FloatArray:
    """The association of each column with each, (c, c), 1 on the diagonal; NaN where undefined."""
    found = np.eye(len(columns))
    for i, first in enumerate(columns):
        for j, second in enumerate(columns[:i]):
            checkpoint()
            found[i, j] = found[j, i] = _association(first, second)
    return found


def _association(first: PairedColumn, second: PairedColumn) -> float:
    if first.numbers is not None and second.numbers is not None:
        return correlation(first.numbers, second.numbers)
    if first.numbers is not None:
        return correlation_ratio(first.numbers, second.codes)
    if second.numbers is not None:
        return correlation_ratio(second.numbers, first.codes)
    codes = first.codes.astype(np.intp), second.codes.astype(np.intp)
    return cramers_v(*codes, first.categories, second.categories)
