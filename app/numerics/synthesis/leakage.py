"""Leakage of PRIMP: how many original records its permutations reassemble (risk, mean, variance, pmf).

[hsu2008, definition 1, theorems 1 and 2]. A record leaks when all m independent permutations of its
components move it to the same place; then it stands in the output as it was.

| symbol | name here | meaning |
| --- | --- | --- |
| n | `records` | records of the original |
| m | `components` | components permuted independently, m ≥ 2 |
| n' | `rows` | rows of the output; n in the paper and here when not said |
| N | | rows of the output that are original records |
| R(l) | `factorial_moments` | E[C(N, l)] = C(n', l)·((n−l)!/n!)^(m−1) for n' ≤ n |

For n' = n this R is the paper's R_m(l) = (1/l!)·((n−l)!/n!)^(m−2). Longer outputs are made of
independent rounds of n rows and one shorter round (`app.numerics.synthesis.components.shuffled`), so
their counts add.

Everything is a product of ratios of neighbouring terms: no factorial is formed, nothing cancels, and
the cost does not depend on n.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray

MOST_TERMS = 200
"""R(l) ≤ 1/l!, and 1/171! is below the smallest double: later terms are zero."""


@dataclass(frozen=True)
class Leakage:
    """The number of leaked records: P{N ≥ 1}, E[N], var(N)."""

    risk: float
    mean: float
    variance: float


def leakage(records: int, components: int, rows: int | None = None) -> Leakage:
    """Risk, mean and variance of the number of leaked records.

    For n' = n: risk = Σ_{l≥1} (−1)^(l+1)·R(l) [hsu2008, theorem 2], mean = n^−(m−2) and
    variance = n^−(m−2)·[1 − n^−(m−2) + (n−1)^−(m−2)] [hsu2008, theorem 1]. The risk is summed on its
    own and not as 1 − P{0}, so that it keeps all digits when it is tiny; below about 1e-308 it is 0.
    Raises InvalidParameter for n < 1, m < 2 or n' < 1.
    """
    _check(records, components, rows)
    none_leaks = 0.0  # its logarithm
    mean = 0.0
    variance = 0.0
    for length, times in _rounds(records, rows or records):
        moments = factorial_moments(records, components, length)
        first = moments[1]
        second = moments[2] if moments.size > 2 else 0.0
        none_leaks += times * math.log1p(-_risk(moments)) if records > 1 else -math.inf
        mean += times * first
        variance += times * (first * (1 - first) + 2 * second)
    return Leakage(0.0 - math.expm1(none_leaks), float(mean), float(variance))


def joint_leakage(parts: Sequence[tuple[int, int, int]]) -> Leakage:
    """The same for tables of (records, components, rows) that are permuted independently of each other.

    Counts of independent parts add, and so do their means and variances.
    """
    found = [leakage(*part) for part in parts]
    certain = any(one.risk >= 1 for one in found)
    none_leaks = -math.inf if certain else math.fsum(math.log1p(-one.risk) for one in found)
    return Leakage(
        0.0 - math.expm1(none_leaks),
        math.fsum(one.mean for one in found),
        math.fsum(one.variance for one in found),
    )


def joint_mass_function(parts: Sequence[tuple[int, int, int]], *, most: int = 20) -> FloatArray:
    """P{N = k} for k = 0 … most, N the number of leaked records of all parts together."""
    total = np.zeros(most + 1)
    total[0] = 1.0
    for part, times in Counter(parts).items():
        one = np.zeros(most + 1)
        mass = mass_function(*part, most=most)
        one[: mass.size] = mass
        total = _convolved(total, _power(one, times))
    return total


def mass_function(
    records: int, components: int, rows: int | None = None, *, most: int = 20
) -> FloatArray:
    """P{N = k} for k = 0 … min(most, n'), (k+1,).

    Departs from [hsu2008, theorem 1]: the printed (1/k!)·[1 − Σ …] is right for k = 0 and for m = 2
    only; n = 2, m = 3 would give 3/4, 1/2, 1/2. Inclusion and exclusion gives
    P{k} = Σ_{l≥k} (−1)^(l−k)·C(l, k)·R(l) = R(k)·P'{0}, where P' is of n−k records and n'−k rows: a
    product of positive factors. Raises InvalidParameter as `leakage` does.
    """
    _check(records, components, rows)
    rows = rows or records
    length = min(most, rows) + 1
    total = np.zeros(length)
    total[0] = 1.0
    for size, times in _rounds(records, rows):
        one = _one_round(records, components, size, length)
        total = _convolved(total, _power(one, times))
    return total


def factorial_moments(records: int, components: int, rows: int) -> FloatArray:
    """R(0), R(1), …, up to R(n') or to where they vanish, for one round of n' ≤ n rows.

    R(l+1)/R(l) = (n'−l)/(n−l) · (n−l)^−(m−2) / (l+1).
    """
    terms = [1.0]
    for taken in range(min(rows, MOST_TERMS)):
        left = records - taken
        ratio = (rows - taken) / left * float(left) ** -(components - 2) / (taken + 1)
        terms.append(terms[-1] * ratio)
        if terms[-1] == 0.0:
            break
    return np.array(terms)


def _risk(moments: FloatArray) -> float:
    signs = np.resize([1.0, -1.0], moments.size - 1)
    return math.fsum(signs * moments[1:])


def _one_round(records: int, components: int, rows: int, length: int) -> FloatArray:
    """P{N = k} for k < length in one round of n' ≤ n rows."""
    moments = factorial_moments(records, components, rows)
    mass = np.zeros(length)
    for k in range(min(length, moments.size)):
        # One record that is left cannot but return to its place: none is kept with probability 0.
        rest = factorial_moments(records - k, components, rows - k) if rows > k else np.ones(1)
        mass[k] = moments[k] * (1.0 - _risk(rest))
    return mass


def _rounds(records: int, rows: int) -> list[tuple[int, int]]:
    """(rows of a round, how many such rounds): full rounds of n, then what is left."""
    full, rest = divmod(rows, records)
    return [(size, times) for size, times in ((records, full), (rest, 1)) if size and times]


def _convolved(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.convolve(one, other)[: one.size]


def _power(mass: FloatArray, times: int) -> FloatArray:
    """The mass function of a sum of `times` independent counts, by repeated squaring."""
    result = np.zeros_like(mass)
    result[0] = 1.0
    while times:
        if times & 1:
            result = _convolved(result, mass)
        mass = _convolved(mass, mass)
        times >>= 1
    return result


def _check(records: int, components: int, rows: int | None) -> None:
    limits = (("records", records, 1), ("components", components, 2), ("rows", rows, 1))
    for name, value, least in limits:
        if value is not None and value < least:
            raise InvalidParameter(
                f"The number of {name} must be at least {least}.", parameter=name, least=least
            )
