"""The applied variance a(v): the noise at which numbers and categories together keep the promise of v.

Noise on numbers and records kept or replaced are two channels, and what they tell adds up where
numbers and categories depend on each other. Who knows the kept rows is left with, of the variance,

    of a noised number j:   (1-q)·[K - K(K+aS)⁻¹K]_jj + q·[G - G(G+aS)⁻¹G]_jj,
    of a fact of the record, (1-q)·(Var - gᵀ(K+aS)⁻¹g): the indicator of a category, or a number
                             that travels with the record.

    of w·X, any combination of the noised numbers, the same as of a number, with wᵀ[…]w for […]_jj.

a(v) is the smallest a ≥ v at which each of these is at least v/(1+v) of its variance. All of them grow
with a, and since S dominates K and G, a = v + √(v(1+v)) is always enough. These are lines; where trees
learn more, a(v) is larger (`learnt`).

Departs from DESIGN.md, which has the numbers one by one: categories that tell little of each of six numbers
may tell their sum, and the promise is about sums too.

| here | meaning |
|---|---|
| K | covariance of the noised numbers, (d, d) |
| G | what the record leaves of K: given the categories and the numbers that travel, (d, d) |
| S | shape of the noise, (d, d) |
| q | 1/(1+a), the share of records kept |
| g | covariances of a fact with the noised numbers, (d,) |
| k, P | S = P·Pᵀ and K = P·diag(k)·Pᵀ |
| A | P in units of the numbers' spread, P_ji/√K_jj |
| W | A² by entry: [K - K(K+aS)⁻¹K]_jj is Σ_i W_ji·a·k_i/(k_i+a) of K_jj |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import Flags, FloatArray, Places
from app.numerics.copies.calibrating.learnt import Learnt

HALVINGS = 60
DIRECTION_HALVINGS = 40
HARDLY = 1e-9
"""Of the largest k: below it, what the record leaves of an axis is rounding."""

EXACT = 1e-12
"""Rounding of an eigenvalue."""


@dataclass(frozen=True)
class Calibration:
    """All that a(v) follows from, for every v.

    where:
        rows          by how many rows it was measured
        travelling    places of the numbers that travel with the record
        noised        places of the other numbers, as far as they have spread; d of them
        explained     adjusted R² of every number given the categories
        k, axes       k and A of K and S, as above; (d,) and (d, d)
        given_k, given_axes  the same of G and S, in the same units
        facts         (d, f), (P⁻¹g)² over the fact's variance, by entry
        fact_columns  (f,), the column each fact is of: categorical columns first, then numbers
        learnt        what some of them need beyond that
    """

    rows: int
    travelling: tuple[int, ...]
    noised: tuple[int, ...]
    explained: FloatArray
    k: FloatArray
    axes: FloatArray
    given_k: FloatArray
    given_axes: FloatArray
    facts: FloatArray
    fact_columns: Places
    learnt: Learnt

    @property
    def weights(self) -> FloatArray:
        """W of K and S."""
        return np.asarray(self.axes**2)

    @property
    def given_weights(self) -> FloatArray:
        """W of G and S."""
        return np.asarray(self.given_axes**2)


def left_shares(calibration: Calibration, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What is left of each noised number and each fact at variances of their own, a (d + f,).

    The share of variance left, and the share recovered: each is exact to rounding where it is small.
    """
    d = len(calibration.k)
    left = np.concatenate([_numbers_left(calibration, a[:d]), _facts_left(calibration, a[d:])])
    found = np.concatenate([_numbers_found(calibration, a[:d]), _facts_found(calibration, a[d:])])
    return left, found


def left_everywhere(c: Calibration, variances: FloatArray) -> FloatArray:
    """The share left of each where all have the same variance, at each of these (g,): (g, d + f)."""
    a = variances[:, None]
    without = (a * c.k / (c.k + a)) @ c.weights.T
    with_record = (a * c.given_k / (c.given_k + a)) @ c.given_weights.T
    facts = (1 - (1 / (c.k + a)) @ c.facts) * a
    return np.asarray(np.hstack([a * without + with_record, facts]) / (1 + a))


def own_variances(calibration: Calibration, v: float) -> FloatArray:
    """The applied variance that each noised number and each fact needs by itself, (d + f,)."""
    needs = _needs_of_lines(calibration, v)
    places = calibration.learnt.places
    needs[places] = np.maximum(needs[places], calibration.learnt.needs(v))
    return needs


def _needs_of_lines(calibration: Calibration, v: float) -> FloatArray:
    d, f = len(calibration.k), calibration.facts.shape[1]
    low, high = np.full(d + f, v), np.full(d + f, largest_applied(v))
    needy = ~_kept_promise(calibration, low, v)
    while not (enough := _kept_promise(calibration, high, v)).all():
        high = np.where(enough, high, 2 * high)  # numbers of a sample may exceed the shape
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        enough = _kept_promise(calibration, middle, v)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(needy, high, v)


def applied_variance(calibration: Calibration, v: float) -> float:
    """a(v), the smallest a ≥ v that keeps the promise of v for all; v itself without a record."""
    if not calibration.facts.shape[1]:
        return v
    return direction_variance(calibration, v, float(own_variances(calibration, v).max(initial=v)))


def kept_level(calibration: Calibration, a: float) -> float:
    """The largest v ≤ a of which a keeps the promise for all: a(v) ≤ a for every v up to it, and for no other."""
    left = left_everywhere(calibration, np.array([a])).min(
        initial=worst_direction(calibration, a)[0]
    )
    odds = float(left / (1 - left)) if left < 1 else a
    return min(a, odds, calibration.learnt.kept(a))


def direction_variance(calibration: Calibration, v: float, least: float) -> float:
    """The smallest a ≥ `least` that keeps the promise of v for every combination of the noised numbers."""
    directions = _Directions.of(calibration)
    if directions is None or directions.keep(least, v):
        return least
    low, high = (
        v,
        largest_applied(v),
    )  # whatever the least: more of it must not lead to less by rounding
    while not directions.keep(high, v):
        high *= 2  # numbers of a sample may exceed the shape
    for _ in range(DIRECTION_HALVINGS):
        middle = low + (high - low) / 2
        low, high = (low, middle) if directions.keep(middle, v) else (middle, high)
    return max(least, high)


def worst_direction(calibration: Calibration, a: float) -> tuple[float, FloatArray]:
    """The least share of variance that is left of a combination of the noised numbers, and its weights (d,).

    The weights are for numbers in units of their spread.
    """
    directions = _Directions.of(calibration)
    if directions is None:
        return 1.0, np.zeros(len(calibration.k))
    values, vectors = np.linalg.eigh(directions.left(a))
    weights = np.zeros(len(calibration.k))
    weights[directions.spread] = vectors[:, 0] / np.sqrt(directions.k)
    weights = np.linalg.solve(calibration.axes.T, weights).astype(np.float64)
    return float(values[0] * a / (1 + a)), weights


@dataclass(frozen=True)
class _Directions:
    """Combinations z of the noised numbers that have variance 1: along the axes of K, over √k.

    Axes along which the numbers hardly vary beside the noise are left out: there nearly all is left.
    """

    spread: Flags
    k: FloatArray
    given_k: FloatArray
    turned: FloatArray

    @classmethod
    def of(cls, c: Calibration) -> _Directions | None:
        """None where there are no two numbers."""
        if len(c.k) < 2:
            return None
        spread = c.k > HARDLY * c.k.max()
        turned = np.linalg.solve(c.axes, c.given_axes)[spread]
        return cls(spread, c.k[spread], c.given_k, turned / np.sqrt(c.k[spread])[:, None])

    def left(self, a: float) -> FloatArray:
        """What is left of the variance of z is zᵀ(…)z·a/(1+a)."""
        given = (self.turned * (self.given_k / (self.given_k + a))) @ self.turned.T
        return np.asarray(np.diag(a / (self.k + a)) + given)

    def found(self, a: float) -> FloatArray:
        """What is recovered is zᵀ(…)z/(1+a)."""
        given = (self.turned * (a * self.given_k / (self.given_k + a))) @ self.turned.T
        return np.asarray(np.diag(1 + a * self.k / (self.k + a)) - given)

    def keep(self, a: float, v: float) -> bool:
        """Whether at least v/(1+v) is left of all; by what is recovered where that is small."""
        if v <= 1:
            least = np.linalg.eigvalsh(self.left(a))[0]
            return bool(least * a * (1 + v) >= v * (1 + a) * (1 - EXACT))
        most = np.linalg.eigvalsh(self.found(a))[-1]
        return bool(most * (1 + v) <= (1 + a) * (1 + EXACT))


def largest_applied(v: float) -> float:
    """v + √(v(1+v)), at which (a/(1+a))² = v/(1+v): enough whatever depends on what."""
    return float(v + np.sqrt(v * (1.0 + v)))


def _kept_promise(calibration: Calibration, a: FloatArray, v: float) -> Flags:
    left, found = left_shares(calibration, a)
    return np.asarray(left * (1 + v) >= v if v <= 1 else found * (1 + v) <= 1)


def _numbers_left(c: Calibration, a: FloatArray) -> FloatArray:
    by = a[:, None]
    without = (c.weights * (by * c.k / (c.k + by))).sum(axis=1)
    with_record = (c.given_weights * (by * c.given_k / (c.given_k + by))).sum(axis=1)
    return np.asarray((a * without + with_record) / (1 + a))


def _numbers_found(c: Calibration, a: FloatArray) -> FloatArray:
    by = a[:, None]
    without = (c.weights * (c.k**2 / (c.k + by))).sum(axis=1)
    with_record = 1 - (c.given_weights * (by * c.given_k / (c.given_k + by))).sum(axis=1)
    return np.asarray((a * without + with_record) / (1 + a))


def _facts_left(c: Calibration, a: FloatArray) -> FloatArray:
    return np.asarray((1 - _facts_by_numbers(c, a)) * a / (1 + a))


def _facts_found(c: Calibration, a: FloatArray) -> FloatArray:
    return np.asarray((1 + a * _facts_by_numbers(c, a)) / (1 + a))


def _facts_by_numbers(c: Calibration, a: FloatArray) -> FloatArray:
    """gᵀ(K+aS)⁻¹g of each fact, over its variance."""
    return np.asarray((c.facts / (c.k[:, None] + a)).sum(axis=0))
