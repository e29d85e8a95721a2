"""What an attacker is left with, beside what was promised: one line of an audit.

| word | meaning |
|---|---|
| promised | e = v/(1+v): the share of variance that is to be left |
| left | Σ error² over Σ deviation², the share that the attack did leave, measured on rows it did not learn from |
| broken | left is below the promise by more than `STANDARD_ERRORS` of its standard errors |
| undecided | it is not, but further below than `ALLOWED` of the promise: so few rows, or such uneven ones, tell nothing |
| known limit | a guess of any kind at the column alone leaves less than is promised to linear ones |
| holds | none of these |

One audit looks at a hundred numbers and more, so a promise counts as broken only where chance could
hardly have made it look so: four standard errors are exceeded by one in 30,000. But a standard error that is large
excuses anything, and what it excuses is not kept for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from app.numerics.arrays import FloatArray

STANDARD_ERRORS = 4.0
INTERVAL = 1.96
ALLOWED = 0.1
"""Share of the promise by which a measurement may miss it and count as one that holds, if chance can do that."""

SLACK = 1e-9
"""What rounding may take from a promise that is kept exactly."""


class Attacker(StrEnum):
    """Who attacks."""

    LINEAR = "best linear"
    LINEAR_KEPT = "best linear that knows the kept rows"
    TREES = "boosted trees"
    ROUNDING = "rounding to the lattice"
    DIRECTION = "worst direction"
    INSIDER = "insider who knows all other attributes"
    AVERAGER = "version averager"
    NEIGHBOURS = "smoother of neighbouring rows"


@dataclass(frozen=True)
class Finding:
    """One attack on one target.

    where:
        target      a column, a category of one, or the part that a direction is of
        interval    of `left`, 95 %
        univariate  what the best guess of any kind from the column alone leaves, where it is a number
        recovered   share of cells found exactly, for rounding
        known_limit  a non-linear guess at a column whose own shape gives it away, as its univariate error
                     tells, whether or not this attacker found it: outside the promise
        undecided   `left` is more than a tenth below the promise, yet measured on rows too few or too
                    uneven to say that the promise is broken
    """

    attacker: Attacker
    target: str
    promised: float
    left: float
    interval: tuple[float, float]
    holds: bool
    univariate: float | None = None
    recovered: float | None = None
    known_limit: bool = False
    undecided: bool = False

    @property
    def standing(self) -> str:
        """Which of the four it is, in a word or three."""
        if self.holds:
            return "holds"
        if self.known_limit:
            return "outside the promise"
        return "undecided" if self.undecided else "broken"

    @property
    def broken(self) -> bool:
        """Whether the promise is: it does not hold, and nothing else is to be said of that."""
        return not (self.holds or self.known_limit or self.undecided)


@dataclass(frozen=True)
class Left:
    """A measured share of variance with its standard error."""

    share: float
    standard_error: float


def measured_left(errors: FloatArray, deviations: FloatArray) -> Left:
    """Σ error²/Σ deviation² over rows, both (n,), with the standard error of a ratio of means.

    An attacker worse than the mean could have guessed the mean: the share is at most 1. Without any
    deviation there is nothing to find, and all of it is left.
    """
    total = float((deviations**2).mean()) if len(deviations) else 0.0
    if not total > 0:
        return Left(1.0, 0.0)
    share = float((errors**2).mean()) / total
    spread = float(np.std(errors**2 - share * deviations**2))
    return Left(min(1.0, share), spread / total / np.sqrt(len(errors)))


def finding(
    attacker: Attacker,
    target: str,
    promised: float,
    left: Left,
    *,
    univariate: float | None = None,
    recovered: float | None = None,
) -> Finding:
    """The line of an audit."""
    reach = INTERVAL * left.standard_error
    highest = left.share + STANDARD_ERRORS * left.standard_error
    by_chance = bool(highest >= promised * (1 - SLACK))
    known_limit = attacker is Attacker.TREES and _given_away(univariate, promised, by_chance)
    undecided = by_chance and not known_limit and left.share < promised * (1 - ALLOWED)
    return Finding(
        attacker,
        target,
        promised,
        left.share,
        (max(0.0, left.share - reach), min(1.0, left.share + reach)),
        by_chance and not known_limit and not undecided,
        univariate,
        recovered,
        known_limit,
        undecided,
    )


def _given_away(univariate: float | None, promised: float, by_chance: bool) -> bool:
    """Whether the column alone explains that guesses at it go below the promise.

    It does if the best of them goes clearly below, found or not: an attacker that learns from some rows is worse.
    """
    if univariate is None:
        return False
    return univariate < (promised * (1 - ALLOWED) if by_chance else promised)


def averaged(promised: float, applied_variance: float, versions: int) -> Finding:
    """The version averager: k versions of a row have the noise of a/k."""
    left = applied_variance / (applied_variance + versions)
    target = f"rows with {versions} versions" if versions > 1 else "rows"
    return finding(Attacker.AVERAGER, target, promised, Left(left, 0.0))
