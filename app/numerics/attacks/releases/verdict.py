"""All lines of an audit in one sentence: what is broken or the nearest to it, and what is left out of that count."""

from __future__ import annotations

from collections.abc import Sequence

from app.numerics.attacks.releases.findings import INTERVAL, STANDARD_ERRORS, Finding

MOST_NAMED = 5
"""Columns outside the promise that a verdict names, the worst first."""


def verdict(findings: Sequence[Finding]) -> str:
    """The worst break, or the strongest attacker that failed; then what could not be decided, and known limits."""
    if not findings:
        return "There was nothing to attack."
    broken = [one for one in findings if one.broken]
    kept = [one for one in findings if one.holds]
    undecided = [one for one in findings if one.undecided]
    every = len(findings)
    said = []
    if broken:
        said.append(f"The promise is broken in {len(broken)} of {every} attacks: {_worst(broken)}")
    elif kept:
        count = f"all {every}" if len(kept) == every else f"{len(kept)} of {every}"
        said.append(f"The promise holds in {count} attacks: {_worst(kept)}")
    else:
        said.append(f"Of no attack out of {every} can it be said that the promise holds")
    if undecided:
        said.append(
            f"in {len(undecided)} it could not be decided: {_worst(undecided)}, and an audit of more rows"
            " would tell, if the data set has more"
        )
    return "; ".join([*said, *_limits(findings)]) + "."


def _limits(findings: Sequence[Finding]) -> list[str]:
    """The columns whose own shape gives them away, with the least that is left of each."""
    limits = [one for one in findings if one.known_limit]
    if not limits:
        return []
    left = {one.target: min(one.left, one.univariate or 0.0) for one in limits}
    worst = sorted(left, key=lambda target: left[target])
    named = [f"{left[target]:.3g} of {target}" for target in worst[:MOST_NAMED]]
    if len(worst) > MOST_NAMED:
        named.append(f"less than is promised of {len(worst) - MOST_NAMED} more")
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return [
        f"it does not hold for guesses that are not linear at columns that are skewed or have few values: the best"
        f" leaves {listed} where {limits[0].promised:.3g} is promised to linear ones, as the advice of the"
        " level tells"
    ]


def _worst(findings: Sequence[Finding]) -> str:
    one = min(findings, key=lambda one: one.left / one.promised)
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
