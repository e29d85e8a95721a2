"""What an attacker is left with, beside what was promised: one line of an audit.

| word | meaning |
|---|---|
| promised | e = v/(1+v): the share of variance that is to be left |
| left | Σ error² over Σ deviation², the share that the attack did leave, measured on rows it did not learn from |
| holds | left is not below the promise by more than `STANDARD_ERRORS` of its standard errors |

One audit looks at a hundred numbers and more, so a promise counts as broken only where chance could
hardly have made it look so: four standard errors are exceeded by one in 30,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from app.numerics.arrays import FloatArray

STANDARD_ERRORS = 4.0
INTERVAL = 1.96
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


@dataclass(frozen=True)
class Finding:
    """One attack on one target.

    where:
        target      a column, a category of one, or the part that a direction is of
        interval    of `left`, 95 %
        univariate  what the best guess of any kind from the column alone leaves, where it is a number
        recovered   share of cells found exactly, for rounding
        known_limit  the break is of a non-linear guess at a column whose own shape gives it away, as
                     its univariate error told: outside the promise
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
    holds = bool(highest >= promised * (1 - SLACK))
    given_away = univariate is not None and univariate < promised
    return Finding(
        attacker,
        target,
        promised,
        left.share,
        (max(0.0, left.share - reach), min(1.0, left.share + reach)),
        holds,
        univariate,
        recovered,
        known_limit=not holds and attacker is Attacker.TREES and given_away,
    )


def averaged(promised: float, applied_variance: float, versions: int) -> Finding:
    """The version averager: k versions of a row have the noise of a/k."""
    left = applied_variance / (applied_variance + versions)
    target = f"rows with {versions} versions" if versions > 1 else "rows"
    return finding(Attacker.AVERAGER, target, promised, Left(left, 0.0))


def verdict(findings: Sequence[Finding]) -> str:
    """All lines in one sentence: the worst break, or the strongest attacker that failed."""
    if not findings:
        return "There was nothing to attack."
    broken = [one for one in findings if not one.holds and not one.known_limit]
    limits = sorted({one.target for one in findings if one.known_limit})
    aside = (
        f" (non-linear guesses at {', '.join(limits)} go further, as the univariate error told)"
        if limits
        else ""
    )
    if broken:
        worst = min(broken, key=lambda one: one.left / one.promised)
        return (
            f"The promise is broken in {len(broken)} of {len(findings)} attacks: {_said(worst)}"
            f"{aside}."
        )
    kept = [one for one in findings if not one.known_limit]
    if not kept:
        return f"No attack was within the promise{aside}."
    nearest = min(kept, key=lambda one: one.left / one.promised)
    return f"The promise holds in all {len(kept)} attacks: {_said(nearest)}{aside}."


def _said(one: Finding) -> str:
    return (
        f"the {one.attacker} is left with {one.left:.3g} of {one.target}{_measured_to(one)} where"
        f" {one.promised:.3g} is promised"
    )


def _measured_to(one: Finding) -> str:
    """Between what the share may lie: without it, less than promised would look like a promise that holds."""
    # The wider side: the other may end at 0 or at 1.
    reach = max(one.left - one.interval[0], one.interval[1] - one.left)
    reach *= STANDARD_ERRORS / INTERVAL
    if not reach > 0:
        return ""
    lowest, highest = max(0.0, one.left - reach), min(1.0, one.left + reach)
    return (
        f" (measured on a sample: {lowest:.3g} to {highest:.3g} within {STANDARD_ERRORS:g} standard"
        " errors)"
    )
