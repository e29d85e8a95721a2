"""Neighbour attacker: averages the rows around a row, which in a sorted table are alike.

The mean of w neighbours has a w-th of the noise. Each target is guessed by least squares from what the copy shows of
it and from the means of the 4, 24 and 124 nearest rows. Neighbours are rows that follow each other in the table and
came together: at the end of such a run there are only those on one side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.attacks.releases.findings import Attacker, Finding, Risk, finding
from app.numerics.attacks.releases.linear import measured
from app.numerics.attacks.releases.released_rows import AttackTarget, ReleasedRows

WIDTHS = (25, 5, 125)
"""Rows around a row, and it among them; the first are kept where rows are too few to learn from all."""

RUN_FOR_EACH = 4
"""Times its width that some run must have: the mean of nearly all rows of a run tells nothing of one."""

REMEDY = "Register the rows in random order: neighbours in the table are alike."


def neighbours(
    rows: ReleasedRows, wanted: Sequence[AttackTarget], promised: float
) -> list[Finding]:
    """Variance that smoothing leaves of every target; nothing where runs are short."""
    if not len(rows.own):
        return []
    runs = rows.runs[rows.own]
    # Another draw of the same rows begins where an original comes that was before the last one.
    runs = np.cumsum(np.append(0, (np.diff(runs) != 0) | (np.diff(rows.own) < 0)))
    longest = int(np.bincount(runs).max())
    widths = [width for width in WIDTHS if RUN_FOR_EACH * width <= longest]
    if not widths:
        return []
    found = []
    for target in wanted:
        own = _centred(target.shown)
        features = np.column_stack([own, *(_mean_around(own, runs, width) for width in widths)])
        (left,) = measured(rows, features, [target])
        found.append(
            finding(
                Risk.INFERENCE,
                Attacker.NEIGHBOURS,
                target.name,
                target.columns,
                promised,
                left,
                REMEDY,
            )
        )
    return found


def _centred(values: FloatArray) -> FloatArray:
    """The values less their mean, a missing one at it, (m,)."""
    there = ~np.isnan(values)
    return np.where(there, values - (values[there].mean() if there.any() else 0.0), 0.0)


def _mean_around(values: FloatArray, runs: Places, width: int) -> FloatArray:
    """The mean of the `width` rows around each row but itself, those of its run alone, (m,)."""
    n = len(values)
    places = np.arange(n)
    changes = np.append(True, runs[1:] != runs[:-1])
    starts, run = np.flatnonzero(changes), np.cumsum(changes) - 1
    ends = np.append(starts[1:], n)
    first = np.maximum(places - width // 2, starts[run])
    last = np.minimum(places + width // 2 + 1, ends[run])
    sums = np.append(0.0, np.cumsum(values))
    return np.asarray((sums[last] - sums[first] - values) / np.maximum(last - first - 1, 1))
