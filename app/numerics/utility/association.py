"""Association of two columns of which one or both hold categories.

| symbol | name here | meaning |
| --- | --- | --- |
| η | `correlation_ratio` | root of the share of a number's rank variance that lies between categories |
| V | `cramers_v` | root of χ²/(n·(min(k, l) − 1)) of the table of counts |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from app.numerics.arrays import FloatArray, Places
from app.numerics.tables import MixedTable

MOST_CATEGORIES = 200
"""Columns of more categories are left out: their table of counts is mostly empty."""


class AssociationBias(NamedTuple):
    """The mean of |association in the release − in the original| over pairs of columns; NaN without pairs."""

    mean: float
    pairs: int


def association_biases(original: MixedTable, released: MixedTable) -> dict[str, AssociationBias]:
    """By measure: numbers with categories, and categories with categories."""
    small = [j for j, known in enumerate(original.categories) if 2 <= known <= MOST_CATEGORIES]
    ratios = [
        [correlation_ratio(each.numeric[:, i], each.codes[:, j]) for each in (original, released)]
        for i in range(original.numeric.shape[1])
        for j in small
    ]
    cramers = [
        [
            cramers_v(each.codes[:, i], each.codes[:, j], *(original.categories[k] for k in (i, j)))
            for each in (original, released)
        ]
        for place, i in enumerate(small)
        for j in small[:place]
    ]
    return {"correlation_ratio": _bias(ratios), "cramers_v": _bias(cramers)}


def correlation_ratio(numbers: FloatArray, codes: Places) -> float:
    """η of the ranks of `numbers` (n,) given categories `codes` (n,), where both are present; NaN if constant."""
    both = ~np.isnan(numbers) & (codes >= 0)
    if not both.any():
        return float("nan")
    ranks, codes = stats.rankdata(numbers[both]), codes[both]
    centred = ranks - ranks.mean()
    total = float(centred @ centred)
    if total == 0:
        return float("nan")
    counts = np.bincount(codes)
    sums = np.bincount(codes, weights=centred)
    between = float((sums[counts > 0] ** 2 / counts[counts > 0]).sum())
    return float(np.sqrt(min(1.0, between / total)))


def cramers_v(first: Places, second: Places, categories: int, others: int) -> float:
    """V of two columns of codes, (n,) each, where both are present; NaN where one of them is constant."""
    both = (first >= 0) & (second >= 0)
    counts = np.zeros((categories, others))
    np.add.at(counts, (first[both], second[both]), 1)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if min(counts.shape) < 2:
        return float("nan")
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    chi_square = float((np.square(counts - expected) / expected).sum())
    return float(np.sqrt(chi_square / (counts.sum() * (min(counts.shape) - 1))))


def _bias(pairs: list[list[float]]) -> AssociationBias:
    gaps = [abs(after - before) for before, after in pairs if np.isfinite([before, after]).all()]
    return AssociationBias(float(np.mean(gaps)) if gaps else float("nan"), len(gaps))
