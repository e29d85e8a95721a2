"""Findings of an attacker against the promise: one line of an audit, and the overall verdict.

| word | meaning |
|---|---|
| promised | e = v/(1+v), the privacy of the level |
| left | Σ error² over Σ deviation², the share of the variance that the attack leaves hidden |
| success, guessing | share of right answers with the copy, and of the best guess without it |
| advantage | (success - guessing)/(1 - guessing); an attack on answers leaves 1 - advantage |
| broken | a linear attack leaves less than the promise by more than `STANDARD_ERRORS` of its standard errors: the promise itself is not kept |
| attention | another attack does, or any attack leaves less than the promise by more than `TOLERANCE` of it, however wide the interval |
| ok | neither |

An audit looks at some hundred numbers, of which none is to be called broken by chance: four standard errors are exceeded
by one in 30,000 [Bonferroni: by one audit in a hundred]. A wide interval excuses nothing: a few rows that hold most of a
column's variance make it wide, and are just those to worry about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from app.numerics.arrays import Flags, FloatArray

STANDARD_ERRORS = 4.0
TOLERANCE = 0.1
"""Share of a promise that chance takes of 4,000 normal numbers at four standard errors, √(2/4,000) each, and a bit more."""

INTERVAL = 1.96
SLACK = 1e-9
"""What rounding may take from a promise that is kept exactly."""

MOST_NAMED = 5


class Risk(StrEnum):
    """The three risks of anonymisation (Article 29 Working Party, opinion 05/2014)."""

    INFERENCE = "inference"
    SINGLING_OUT = "singling out"
    LINKABILITY = "linkability"


class Attacker(StrEnum):
    """Kind of attacker."""

    LINEAR = "best linear"
    POSTERIOR = "posterior mean"
    NEIGHBOURS = "neighbouring rows"
    VERSIONS = "mean of versions"
    LINKAGE = "linkage"
    PASSTHROUGH = "passthrough columns"


class Verdict(StrEnum):
    """Verdict on a promise, best to worst."""

    OK = "ok"
    ATTENTION = "attention"
    BROKEN = "broken"

    @classmethod
    def worst(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """The worst of them."""
        return max(verdicts, key=list(cls).index, default=cls.OK)


@dataclass(frozen=True)
class RemainingVariance:
    """A measured share of what is hidden, with its standard error; where answers are counted, their shares."""

    share: float
    standard_error: float
    success: float | None = None
    guessing: float | None = None


@dataclass(frozen=True)
class Finding:
    """One attack on one target.

    where:
        target    what is attacked: a column, one of its values, a difference, a row
        columns   columns of the target
        interval  of `left`, 95 %
        remedy    what the owner can do; None where nothing is needed
    """

    risk: Risk
    attacker: Attacker
    target: str
    columns: tuple[str, ...]
    promised: float
    left: float
    interval: tuple[float, float]
    verdict: Verdict
    success: float | None = None
    guessing: float | None = None
    remedy: str | None = None


def measured_left(errors: FloatArray, deviations: FloatArray) -> RemainingVariance:
    """Σ error²/Σ deviation² over rows, both (n,), with its standard error: rows are given, noise is what varies.

    An attacker worse than the mean could have guessed the mean: the share is at most 1. Without any
    deviation there is nothing to find, and all of it is left.
    """
    total = float((deviations**2).mean()) if len(deviations) else 0.0
    if not total > 0:
        return RemainingVariance(1.0, 0.0)
    share = float((errors**2).mean()) / total
    spread = float(np.std(errors**2))
    return RemainingVariance(min(1.0, share), spread / total / math.sqrt(len(errors)))


def answers_left(right: Flags, guessing: float) -> RemainingVariance:
    """Remaining share 1 - advantage from right answers (n,), against the best guess without a copy."""
    success = float(right.mean())
    room = max(1 - guessing, 1 / len(right))
    # Plus one right and one wrong answer: of ten right ones it is not known that none can be wrong.
    smoothed = (right.sum() + 1) / (len(right) + 2)
    error = math.sqrt(smoothed * (1 - smoothed) / len(right)) / room
    left = min(1.0, max(0.0, 1 - (success - guessing) / room))
    return RemainingVariance(left, error, success, guessing)


def finding(
    risk: Risk,
    attacker: Attacker,
    target: str,
    columns: Sequence[str],
    promised: float,
    left: RemainingVariance,
    remedy: str,
) -> Finding:
    """The line of an audit."""
    reach = INTERVAL * left.standard_error
    missing = promised * (1 - SLACK) - left.share
    verdict = Verdict.OK
    if missing > STANDARD_ERRORS * left.standard_error:
        verdict = Verdict.BROKEN if attacker is Attacker.LINEAR else Verdict.ATTENTION
    elif missing > TOLERANCE * promised:
        verdict = Verdict.ATTENTION
    return Finding(
        risk,
        attacker,
        target,
        tuple(columns),
        promised,
        left.share,
        (max(0.0, left.share - reach), min(1.0, left.share + reach)),
        verdict,
        left.success,
        left.guessing,
        None if verdict is Verdict.OK else remedy,
    )


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Worst finding of each target and risk, sorted worst first."""
    order = list(Verdict)

    def badness(one: Finding) -> tuple[int, float]:
        return -order.index(one.verdict), one.left / one.promised

    worst: dict[tuple[Risk, str], Finding] = {}
    for one in sorted(findings, key=badness):
        worst.setdefault((one.risk, one.target), one)
    return tuple(worst.values())


def summary(findings: Sequence[Finding]) -> str:
    """All lines, the worst first, in one or two sentences."""
    if not findings:
        return "There was nothing to attack."
    promised = _percent(findings[0].promised)
    verdict = Verdict.worst(one.verdict for one in findings)
    bad = [one for one in findings if one.verdict is verdict]
    if verdict is Verdict.OK:
        one = bad[0]
        return (
            f"None of {len(findings)} targets is left with less than the {promised} promised; the nearest is"
            f" {one.target} with {_percent(one.left)} ({one.attacker})."
        )
    named = ", ".join(
        f"{one.target} ({_percent(one.left)}, {one.attacker})" for one in bad[:MOST_NAMED]
    )
    more = f" and {len(bad) - MOST_NAMED} more" if len(bad) > MOST_NAMED else ""
    if verdict is Verdict.BROKEN:
        return f"The promise is broken: of {promised} promised, less is left of {named}{more}."
    return (
        f"The promise to linear attackers is kept; another attack leaves less than {promised} of"
        f" {named}{more}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def averaged(promised: float, noise_variance: float, versions: int) -> Finding:
    """The mean of k versions of a row, which has a k-th of the noise: v/(v+k) is left."""
    return finding(
        Risk.LINKABILITY,
        Attacker.VERSIONS,
        f"a person with {versions} rows" if versions > 1 else "a person with one row",
        (),
        promised,
        RemainingVariance(noise_variance / (noise_variance + versions), 0.0),
        "Raise the privacy of the level, or keep one row of each person.",
    )
