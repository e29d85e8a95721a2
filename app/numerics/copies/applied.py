"""Applied variance a(v; R²): noise at which numbers and categories together keep the promise of v.

A copy has two channels: noise of covariance a·S on the numbers, and records that are untouched with
probability q = 1/(1+a). An attacker who even knew which records are untouched is left, of the variance of
a function f of the record and of a combination w·X of the numbers, with at least

    f:    (1-q)·(1 - R²/(1+a))                        = a(1+a-R²)/(1+a)²
    w·X:  (1-q)·a/(1+a) + q·a(1-R²)/(a+1-R²)          ≥ a(1+a-R²)/(1+a)²,

for S dominates the covariance K of the numbers [li2012, section 3.1], and given the record at least
(1-R²)·K of K is left. a(v) is where this is v/(1+v): the root of a² + b·a - v, b = (1+v)(1-R²) - 2v.

| here | meaning |
|---|---|
| v | nominal noise variance of a level |
| R² | largest squared canonical correlation of numbers and record (`association`) |
"""

from __future__ import annotations

import math


def applied_variance(v: float, r_squared: float) -> float:
    """a(v; R²): v at R² = 0, v + √(v(1+v)) at R² = 1, strictly increasing in v.

    Written as v plus a positive term, so that nothing cancels.
    """
    _check(v, r_squared)
    half = (1.0 - r_squared) / 2.0
    return v + r_squared * v / (half + math.hypot(half, math.sqrt(r_squared * v / (1.0 + v))))


def squared_correlation(v: float, a: float) -> float:
    """The R² with a(v; R²) = a."""
    _check(v, 0.0)
    return min(max(1.0 - ((v - a * a) / a + 2.0 * v) / (1.0 + v), 0.0), 1.0)


def _check(variance: float, r_squared: float) -> None:
    if not (0 < variance < math.inf and 0 <= r_squared <= 1):
        raise ValueError("a variance is positive and finite, a squared correlation between 0 and 1")
