"""Whether rows tell more of numbers and categories together than those did that a(v) was measured by.

At an applied variance a the first rows keep the promise of some v, and other rows that of another v', larger
or smaller. Where their share of variance v'/(1+v') is less than `ALLOWED` of v/(1+v), the rows tell more, or the
few that were seen differ by chance. Which of the two is asked of the rows themselves: what is found is found again
with each sixteenth of them replaced by the next one.

No one share of 1/√n would do for all a. At a small a what is left of a category that a number determines is left by
the few rows near the threshold, so that of hundreds of rows a handful decides.

| here | meaning |
|---|---|
| n, n_0 | how many rows are judged, and by how many a(v) was measured |
| t(a) | log of v'/(1+v') |
| t_g(a) | the same with group g of G replaced by group g+1 |
| σ(a) | standard error of t(a) in n rows, that of the first rows being σ·√(n/n_0) if they are alike |

σ² = ½·Σ_g (t_g - t)²: of a mean, t_g - t is the difference of two groups' means over G, of variance 2σ²/G. A jackknife, which leaves
groups out, would do as well for a mean. But here rows take turns in what they are used for, half of them to find cells and the others
to judge them, each with noise of its own (`cell_attack`): rows that move up would change all that, and seem to be chance.

What rare categories tell by pairs (`joining`) has what may be chance taken from it, and is left out of σ.

Lines are also judged alone: of few rows cells are sometimes found and sometimes not, and σ is large although both
ways the rows tell more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from app.numerics.arrays import Codes, FloatArray, Places
from app.numerics.copies.calibrating.applied import Calibration, kept_level
from app.numerics.copies.calibrating.calibration import recalibrated
from app.numerics.copies.calibrating.joining import frequent_categories
from app.numerics.copies.calibrating.learnt import Learnt

ALLOWED = 0.97
"""Of the share that is promised: what a finite sample may leave."""

CHANCE = 2.0
"""Over √n: what so few rows may take from that, whatever their standard error."""

SURE = 4.0
"""Standard errors by which rows fall short that tell more."""

GROUPS = 16
"""G."""

MOST_ROWS = 16_384
"""Rows that σ is measured by, at most."""

LEAST_TRUSTED = 400
"""n_0 at least: first rows that are fewer must not excuse whatever comes after them."""


def tell_more(
    frozen: Calibration,
    numbers: FloatArray,
    codes: Codes,
    sizes: Sequence[int],
    S: FloatArray,
    variances: Sequence[float],
    *,
    frequent: bool = False,
) -> bool:
    """Whether rows would surely be left with less than is promised, at one of these applied variances.

    Numbers (n, d), codes (n, c) below `sizes` and the shape S are as in `recalibrated`, and in no order: every
    sixteenth of them is as good as another. Rare categories may be judged by pairs alone, only the `frequent` ones each by itself.
    """
    n = len(numbers)
    every = codes
    if frequent:
        codes, sizes = frequent_categories(codes, sizes)
    found = recalibrated(frozen, numbers, codes, sizes, S, every)
    if found is None:
        return False
    a = np.array(variances)
    short = _log_shares(frozen, a)[1] - _log_shares(found, a)
    suspect = np.exp(-short) < ALLOWED - CHANCE / np.sqrt(n)
    if not suspect.any():
        return False
    some = slice(MOST_ROWS)
    error = _standard_error(frozen, numbers[some], codes[some], sizes, S, a)
    error *= np.sqrt(min(n, MOST_ROWS) * (1 / n + 1 / max(frozen.rows, LEAST_TRUSTED)))
    return bool((suspect & (short > SURE * error - np.log(ALLOWED))).any())


def _standard_error(
    frozen: Calibration,
    numbers: FloatArray,
    codes: Codes,
    sizes: Sequence[int],
    S: FloatArray,
    variances: FloatArray,
) -> FloatArray:
    """σ in these rows, of each variance, (2, m)."""
    found = [
        recalibrated(frozen, numbers[rows], codes[rows], sizes, S)
        for rows in [np.arange(len(numbers)), *replaced_rows(len(numbers))]
    ]
    t, *others = [_log_shares(one, variances) for one in found if one is not None]
    return np.asarray(np.sqrt(((np.array(others) - t) ** 2).sum(axis=0) / 2))


def replaced_rows(n: int) -> list[Places]:
    """(n,) for each group: all rows, with those of the next group in the place of its own.

    Neighbours go together, so that a row is replaced by one that is used for the same.
    """
    pairs = np.arange(n // 2 * 2).reshape(-1, 2)
    groups = [pairs[place::GROUPS].ravel() for place in range(min(GROUPS, len(pairs)))]
    found = []
    for ours, theirs in zip(groups, [*groups[1:], *groups[:1]], strict=True):
        rows = np.arange(n)
        rows[ours] = np.resize(theirs, len(ours))
        found.append(rows)
    return found


def _log_shares(calibration: Calibration, variances: FloatArray) -> FloatArray:
    """t of each applied variance, (2, m): by lines alone, and by all that was learnt."""
    lines = replace(calibration, learnt=Learnt.nothing())
    v = np.array([[kept_level(one, a) for a in variances.tolist()] for one in (lines, calibration)])
    v = np.maximum(v, np.finfo(np.float64).tiny)
    return np.asarray(np.log(v) - np.log1p(v))
