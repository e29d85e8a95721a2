"""Run every attacker on the same rows of a copy, for advice, previews and audits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.releases.findings import (
    Attacker,
    Finding,
    RemainingVariance,
    Risk,
    finding,
    measured_left,
    worst_first,
)
from app.numerics.attacks.releases.linear import best_linear
from app.numerics.attacks.releases.linkage import linkage
from app.numerics.attacks.releases.neighbours import neighbours
from app.numerics.attacks.releases.passthrough import passthrough
from app.numerics.attacks.releases.posterior_mean import RecordChannel, posterior_mean
from app.numerics.attacks.releases.released_rows import AttackTarget, ReleasedRows, targets

MOST_ROWS = 4_000
MOST_WORK = 3_000_000_000
"""Pairs of rows times columns and targets: of wide tables fewer rows are taken."""


def attacked_release(
    rows: ReleasedRows, promised: float, rng: np.random.Generator, most_rows: int = MOST_ROWS
) -> tuple[Finding, ...]:
    """The worst finding for each target of a copy that promises `promised`, the worst first.

    `most_rows` bounds the rows of the posterior mean, whose cost grows with their square.
    """
    rows = rows.in_units()
    wanted = targets(rows, rng)
    return worst_first(
        [
            *best_linear(rows, wanted, promised, rng),
            *posterior_means(rows, wanted, promised, rng, most_rows),
            *neighbours(rows, wanted, promised),
            *passthrough(rows, wanted, promised),
            *linkage(rows, promised, rng),
        ]
    )


def posterior_means(
    rows: ReleasedRows,
    wanted: Sequence[AttackTarget],
    promised: float,
    rng: np.random.Generator,
    most_rows: int = MOST_ROWS,
) -> tuple[Finding, ...]:
    """Variance that the posterior mean leaves of each target, from the most informative columns.

    Of many columns together few rows are near, so that each number is also guessed by itself, strongly
    correlated ones by these, and categories by the record alone.
    """
    width = len(wanted) + len(rows.names) + len(rows.category_names)
    most = min(most_rows, int((MOST_WORK / max(width, 1)) ** 0.5))
    if most < len(rows.numbers):
        rows = rows.some(np.sort(rng.permutation(len(rows.numbers))[:most]))
        wanted = targets(rows, rng)
    every = tuple(range(len(rows.names)))
    ways: dict[tuple[tuple[int, ...], bool], list[int]] = {}
    for place, target in enumerate(wanted):
        for columns in dict.fromkeys([target.numbers, _beside(target, wanted), every]):
            record = bool(rows.category_names) and (columns == every or not target.numbers)
            ways.setdefault((columns, record), []).append(place)
    found: list[list[RemainingVariance]] = [[] for _ in wanted]
    for (columns, record), places in ways.items():
        lefts = _measured(rows, [wanted[place] for place in places], columns, record=record)
        for place, left in zip(places, lefts, strict=True):
            found[place].append(left)
    return worst_first(
        finding(
            Risk.INFERENCE,
            Attacker.POSTERIOR,
            target.name,
            target.columns,
            promised,
            left,
            _remedy(target),
        )
        for target, lefts in zip(wanted, found, strict=True)
        for left in lefts
    )


def _beside(target: AttackTarget, wanted: Sequence[AttackTarget]) -> tuple[int, ...]:
    """The numbers of a target with those strongly correlated with them."""
    own = set(target.numbers)
    pairs = [set(other.numbers) for other in wanted if len(other.numbers) == 2]
    return tuple(sorted(own.union(*(pair for pair in pairs if pair & own))))


def _measured(
    rows: ReleasedRows, wanted: Sequence[AttackTarget], columns: Sequence[int], *, record: bool
) -> list[RemainingVariance]:
    values = np.stack([target.values for target in wanted], axis=1)
    nothing = np.full(len(rows.own), np.nan)
    shown = np.stack([target.shown if target.numbers else nothing for target in wanted], axis=1)
    errors: list[FloatArray] = []
    deviations: list[FloatArray] = []
    for law, originals, released in rows.each_part():
        places = np.searchsorted(originals, rows.own[released])
        channel = None
        if record:
            channel = RecordChannel.of(law, rows.codes[originals], rows.shown[released])
        means = _means(values[originals])
        centred = values[originals] - means
        guesses = posterior_mean(
            law,
            rows.numbers[originals],
            rows.released[released],
            places,
            centred,
            shown[released] - means,
            columns,
            channel,
        )
        errors.append(guesses - centred[places])
        deviations.append(centred[places])
    missed, deviated = np.concatenate(errors), np.concatenate(deviations)
    return [
        measured_left(missed[there, place], deviated[there, place])
        for place, there in enumerate((~np.isnan(missed)).T)
    ]


def _means(values: FloatArray) -> FloatArray:
    """The means of targets (n, t), (t,)."""
    there = ~np.isnan(values)
    return np.asarray(np.where(there, values, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))


def _remedy(target: AttackTarget) -> str:
    names = " and ".join(target.columns)
    if len(target.numbers) == 2:
        return (
            f"Raise the privacy of the level, or leave out one of {names}: together they tell more."
        )
    if target.numbers:
        return f"Raise the privacy of the level, or give {names} a log scale, coarsen it or leave it out: its values are skewed or few."
    return f"Raise the privacy of the level, or join rare values of {names}, or leave it out."
