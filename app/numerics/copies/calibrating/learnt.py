"""The noise that numbers and categories need beyond the closed forms, for what trees learn of them.

The closed forms of `applied` are those of lines. An attacker by cells (`cell_attack`) is left with less; what
it takes to leave it the promise is measured once, at a few variances, and kept as a table from v to a.

Departs from DESIGN.md, which has the closed forms alone: with them boosted trees are left with 0.482 of
the ages of adult where 0.5 is promised. A number is not counted where its own noisy value already leaves less
than is promised (`univariate_error`): that is no matter of categories, and its owner is told. Nor is more
asked for than v + √(v(1+v)), which is enough for normal numbers whatever depends on what.

| here | meaning |
|---|---|
| reach | odds of what is left, left/(1-left): the largest v that is kept. For numbers alone it is a |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.copies.calibrating.cell_attack import CellRows, shares_of_lines
from app.numerics.copies.calibrating.univariate_error import CLEAR, best_guess_error

ATTACKED = tuple(2.0**power for power in range(-4, 7, 2))
"""Variances at which the attack is made; in between, and beyond, its share of lines is interpolated."""

GRID = 2.0 ** np.arange(-12, 12.25, 0.25)
LOG_GRID = np.log(GRID)
LEVELS = 2.0 ** np.arange(-8, 8.5, 0.5)
BEYOND = 1.25
"""What cells find beyond lines counts so many times: boosted trees found up to a quarter more than cells."""

NEVER = float(np.finfo(np.float64).max)
"""The own reach of a fact, which has no noisy value of its own."""

LITTLE = 1e-3
"""Shares of lines above 1 less this are chance."""


@dataclass(frozen=True)
class Learnt:
    """The needs of some columns.

    where:
        levels   (l,), nominal variances, ascending
        applied  (l, m), the applied variance that each column needs at each; it grows with v
        places   (m,), of the columns among noised numbers and facts
    """

    levels: FloatArray
    applied: FloatArray
    places: Places

    @classmethod
    def nothing(cls) -> Learnt:
        """Where lines tell all."""
        return cls(np.empty(0), np.empty((0, 0)), np.empty(0, dtype=np.intp))

    def needs(self, v: float) -> FloatArray:
        """What each of the columns needs at v, (m,)."""
        if not len(self.places):
            return np.empty(0)
        at = float(np.clip(v, self.levels[0], self.levels[-1]))
        found = [np.interp(np.log(at), np.log(self.levels), np.log(own)) for own in self.applied.T]
        return np.asarray(np.exp(found) * (v / at))

    def kept(self, a: float) -> float:
        """The largest v at which none of the columns needs more than a."""
        return min((self._kept_by(own, a) for own in self.applied.T), default=NEVER)

    def _kept_by(self, own: FloatArray, a: float) -> float:
        at = float(np.clip(a, own[0], own[-1]))
        # Where needs do not grow with v, several levels need the same: the last of them counts.
        above = min(int(np.searchsorted(own, at, side="right")), len(own) - 1)
        between = slice(above - 1, above + 1)
        found = np.interp(np.log(at), np.log(own[between]), np.log(self.levels[between]))
        return float(np.exp(found) * (a / at))


def learnt(
    rows: CellRows,
    S: FloatArray,
    seen: FloatArray,
    lines: FloatArray,
    fact_places: Places,
) -> Learnt:
    """What the attacker by cells makes necessary.

    `seen` (n, d) are the numbers with their gaps; `lines` (len(GRID), d + f) is what lines are left with
    of all noised numbers and facts at the variances of the grid, and `fact_places` say which of the latter
    the facts of the rows are.
    """
    d = seen.shape[1]
    numbers, facts = shares_of_lines(rows, S, ATTACKED)
    places = np.concatenate([np.arange(d), fact_places]).astype(np.intp)
    share = _on_grid(np.hstack([numbers, facts]))
    telling = np.flatnonzero(share.min(axis=0) < 1 - LITTLE)
    if not len(telling):
        return Learnt.nothing()
    places, share = places[telling], share[:, telling]
    of_lines = _reach(lines)
    reach = of_lines[:, places] * (_reach(lines[:, places] * share) / of_lines[:, places]) ** BEYOND
    own = np.column_stack(
        [
            _own_reach(seen[:, place], S[place, place]) if place < d else np.full(len(GRID), NEVER)
            for place in places
        ]
    )
    applied = _needs(reach, own, of_lines.min(axis=1))
    return Learnt(LEVELS, applied, places)


def _needs(reach: FloatArray, own: FloatArray, lines: FloatArray) -> FloatArray:
    """(l, m): the needs at the levels, from the smallest level up, so that they grow."""
    found = np.empty((len(LEVELS), reach.shape[1]))
    before = np.zeros(reach.shape[1])
    most = LEVELS + np.sqrt(LEVELS * (1 + LEVELS))
    by_lines, *by_column = (_inverse(own) for own in (lines, *reach.T))
    for place, v in enumerate(LEVELS):
        needed = np.minimum([own[place] for own in by_column], most[place])
        a = max(by_lines[place], before.max(initial=0.0))
        asked = np.zeros(len(needed), dtype=bool)
        for _ in needed:  # More noise may bring a number back to where it counts.
            counts = _at(own, a) >= CLEAR * v
            if (counts <= asked).all():
                break
            asked |= counts
            a = max(a, needed[asked].max(initial=0.0))
        before = np.maximum(np.where(asked, needed, v), before)
        found[place] = before
    return found


def _reach(left: FloatArray) -> FloatArray:
    """The odds of what is left, growing with the variance as they must."""
    odds = left / np.maximum(1 - left, np.finfo(np.float64).tiny)
    return np.asarray(np.minimum.accumulate(odds[::-1], axis=0)[::-1])


def _inverse(reach: FloatArray) -> FloatArray:
    """The variances of the grid at which so much is kept as the levels say, (l,)."""
    return np.asarray(np.exp(np.interp(np.log(LEVELS), np.log(reach), LOG_GRID)))


def _at(reach: FloatArray, a: float) -> FloatArray:
    """Reaches on the grid (len(GRID), m) at a variance, (m,)."""
    place = float(np.interp(np.log(a), LOG_GRID, np.arange(len(GRID))))
    before = min(int(place), len(GRID) - 2)
    below, above = reach[before], reach[before + 1]
    return np.asarray(below + (place - before) * (above - below))


def _on_grid(shares: FloatArray) -> FloatArray:
    """Shares at `ATTACKED` (g, m) on the grid."""
    at = np.log(ATTACKED)
    return np.column_stack([np.interp(LOG_GRID, at, own) for own in shares.T])


def _own_reach(values: FloatArray, variance: float) -> FloatArray:
    """What a number's own noisy value keeps, at the variances of the grid."""
    left = np.array([best_guess_error(values, a * variance) for a in ATTACKED])
    normal = np.array(ATTACKED) / (1 + np.array(ATTACKED))
    share = np.interp(LOG_GRID, np.log(ATTACKED), np.nan_to_num(left / normal, nan=1.0))
    return _reach(np.minimum(share, 1.0) * GRID / (1 + GRID))
