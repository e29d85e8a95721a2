"""What a level would risk and keep, measured on a sample by whoever can read its rows.

A cluster is told which rows these are, by which keys they open, and what is asked of them. What
comes back are shares, errors and scores; the rows, and the copy that was simulated, are thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.numerics.attacks.releases.findings import Finding, averaged
from app.numerics.attacks.releases.promise import attacked_release
from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.attacks.releases.verdict import verdict
from app.service.attacks.released_sample import OriginalRows, RowsWanted, original_rows
from app.service.attacks.simulated_copy import Draws, Simulated, new_draws, simulated_copy
from app.service.copies.preview.report import Risk, Utility
from app.service.copies.preview.utility import (
    Questions,
    Side,
    copied_side,
    measured_utility,
    original_side,
)
from app.store.blobs.store import BlobRows

LEARNT_TARGETS = 6
"""Targets of the boosted trees, which take longer than all other attackers together."""


@dataclass(frozen=True, repr=False)
class Rows:
    """What all levels are measured on: the rows, those that are attacked, and what they draw."""

    original: OriginalRows
    chosen: np.ndarray
    draws: Draws
    before: Side


@dataclass(frozen=True, repr=False)
class LevelTask:
    """A level to be measured.

    where:
        attacked  how many of the rows the attackers get, at most
        asked     which models and rows; the scores of the original among them
        versions  how often the most repeated key occurs, None without keys
        applied   the variance that the copy would be drawn at
    """

    wanted: RowsWanted
    attacked: int
    asked: Questions
    versions: int | None
    noise_variance: float
    applied: float
    originals: BlobRows | None = None


@dataclass(frozen=True)
class Measured:
    """What was found."""

    risk: Risk
    utility: Utility


def rows_to_measure(original: OriginalRows, attacked: int, seed: int) -> Rows:
    """The rows with their draws: the same for the same seed, whoever makes them."""
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(original.table.num_rows)[:attacked])
    return Rows(original, chosen, new_draws(original, rng), original_side(original))


def measure_elsewhere(task: LevelTask) -> Measured:
    """Read the rows and measure the level."""
    if task.originals is None:
        raise ValueError("a task for elsewhere carries the keys of its rows")
    original = original_rows(task.wanted, task.originals)
    return measure(rows_to_measure(original, task.attacked, task.asked.seed), task)


def measure(rows: Rows, task: LevelTask) -> Measured:
    """The risk and the utility of the level; by one BLAS thread it is the same on every machine."""
    copy, after = simulated(rows, task.applied)
    columns = {column.name: column for column in rows.original.columns}
    return Measured(
        _risk(rows, copy, task),
        measured_utility(rows.before, after, columns, task.asked),
    )


def simulated(rows: Rows, applied: float) -> tuple[Simulated, Side]:
    """A copy of the rows drawn at an applied variance."""
    copy = simulated_copy(rows.original, applied, rows.draws)
    return copy, copied_side(rows.original, rows.before, copy)


def _risk(rows: Rows, copy: Simulated, task: LevelTask) -> Risk:
    """What the attackers of an audit find, on some of the rows."""
    variance = task.noise_variance
    promised = variance / (1 + variance)
    released = _some(copy.copied.rows, rows.chosen)
    rng = np.random.default_rng(task.asked.seed)
    found = attacked_release(released, promised, rng, copy.copied.noise, LEARNT_TARGETS)
    if task.versions is not None:
        found.append(averaged(promised, variance, task.versions))
    return Risk(
        verdict=verdict(found),
        recovered=max((1 - one.left for one in found), default=0.0),
        attackers=_worst_of_each(found),
    )


def _worst_of_each(found: Sequence[Finding]) -> tuple[Finding, ...]:
    worst: dict[str, Finding] = {}
    for one in found:
        known = worst.get(one.attacker)
        if known is None or one.left < known.left:
            worst[one.attacker] = one
    return tuple(worst.values())


def _some(rows: ReleasedRows, chosen: np.ndarray) -> ReleasedRows:
    return replace(
        rows,
        numbers=rows.numbers[chosen],
        released=rows.released[chosen],
        codes=rows.codes[chosen],
        shown=rows.shown[chosen],
        parts=rows.parts[chosen],
        kept=None if rows.kept is None else rows.kept[chosen],
        # Some rows out of many are no neighbours.
        runs=rows.runs if len(chosen) == len(rows.numbers) else None,
    )
