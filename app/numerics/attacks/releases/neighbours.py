"""The smoother: an attacker that takes the mean of what is released of the rows around a row.

In a sorted table neighbours are alike and their noises are not, so that the mean of w of them has a w-th of the
noise. The promise is about a row by itself and cannot see that; this attacker does.

It guesses each target by least squares from what the copy shows of the row and from the means of its 4, 24 and
124 nearest rows, learns from half of the rows and is measured on the other half. Neighbours are rows that follow
each other in the table and came together: at the end of such a run there are only those on one side.
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.attacks.releases.findings import Attacker, Finding, finding, measured_left
from app.numerics.attacks.releases.joint_linear import crossfitted, halves
from app.numerics.attacks.releases.released_rows import ReleasedRows, targets

WIDTHS = (25, 5, 125)
"""Rows around a row, and it among them; the first are kept where rows are too few to learn from all."""

RUN_FOR_EACH = 4
"""Times its width that some run must have: the mean of nearly all rows of a run tells nothing of one."""


def neighbours(rows: ReleasedRows, promised: float, rng: np.random.Generator) -> list[Finding]:
    """What smoothing leaves of every target; nothing where it is not known which rows are neighbours."""
    if rows.runs is None or not len(rows.runs):
        return []
    longest = int(np.unique(rows.runs, return_counts=True)[1].max())
    widths = [width for width in WIDTHS if RUN_FOR_EACH * width <= longest]
    if not widths:
        return []
    folds = halves(len(rows.runs), rng)
    found = []
    for target in targets(rows):
        there = ~np.isnan(target.values)
        truth = target.values[there]
        own = _centred(target.shown)
        features = np.column_stack([own, *(_mean_around(own, rows.runs, w) for w in widths)])
        guess = crossfitted(features[there], truth[:, None], folds[there])[:, 0]
        left = measured_left(guess - truth, truth - (truth.mean() if len(truth) else 0.0))
        found.append(finding(Attacker.NEIGHBOURS, target.name, promised, left))
    return found


def _centred(values: FloatArray) -> FloatArray:
    """The values less their mean, a missing one at it, (n,)."""
    there = ~np.isnan(values)
    mean = values[there].mean() if there.any() else 0.0
    return np.where(there, values - mean, 0.0)


def _mean_around(values: FloatArray, runs: Places, width: int) -> FloatArray:
    """The mean of the `width` rows around each row but itself, those of its run alone, (n,)."""
    n = len(values)
    places = np.arange(n)
    starts = np.flatnonzero(np.append(True, runs[1:] != runs[:-1]))
    run = np.cumsum(np.append(True, runs[1:] != runs[:-1])) - 1
    ends = np.append(starts[1:], n)
    first = np.maximum(places - width // 2, starts[run])
    last = np.minimum(places + width // 2 + 1, ends[run])
    sums = np.append(0.0, np.cumsum(values))
    others = last - first - 1
    return np.asarray((sums[last] - sums[first] - values) / np.maximum(others, 1))
