"""Boosted trees: an attacker that learns any function of what is released, from half of the true rows.

It is told which records were kept, where that is known: a record that was replaced is none to it. Its
guesses are not linear, so it may go below the promise for a column whose own shape gives it away. What
the best guess from such a column alone leaves is told beside it, and counts where the trees, which learn from
some rows only, do worse.
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.releases.findings import Attacker, Finding, finding, measured_left
from app.numerics.attacks.releases.released_rows import ReleasedRows, Target, targets
from app.numerics.copies.calibrating.univariate_error import best_guess_error

ITERATIONS = 60
LEAVES = 15
LEARNING_RATE = 0.1
FEWEST_ROWS = 400
MOST_ROWS = 4_000
"""Rows to learn from at most; it is measured on all of the other half, so that more rows tell more."""

MOST_CODES = 200
"""Categories that trees split freely; a column with more is a number to them."""


def boosted_trees(
    rows: ReleasedRows, promised: float, rng: np.random.Generator, most: int | None = None
) -> list[Finding]:
    """What boosted trees leave of every target; nothing with fewer than 400 rows to learn from.

    With `most` only of so many: numbers, then categories, at least a third of them where there are any.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    if len(rows.numbers) < FEWEST_ROWS:
        return []
    features, categorical = _features(rows)
    order = rng.permutation(len(features))  # rows that stand together may be alike
    learnt = np.arange(len(features)) % 2 == 0
    found = []
    for place, target in _some(list(enumerate(targets(rows))), most):
        there = ~np.isnan(target.values)
        training = order[learnt & there[order]][:MOST_ROWS]
        asked = order[~learnt & there[order]]
        if min(len(training), len(asked)) < FEWEST_ROWS // 4:
            continue
        mean, unit = target.values[training].mean(), target.values[training].std()
        if not unit > 0:
            continue
        model = HistGradientBoostingRegressor(
            max_iter=ITERATIONS,
            max_leaf_nodes=LEAVES,
            learning_rate=LEARNING_RATE,
            early_stopping=False,
            categorical_features=categorical,
            random_state=int(rng.integers(2**31)),
        )
        with threadpool_limits(
            1
        ):  # its threads wait by spinning: beside others at work, for minutes
            model.fit(features[training], (target.values[training] - mean) / unit)
            guess = model.predict(features[asked]) * unit + mean
        if target.of_record and rows.kept is not None:
            guess = np.where(rows.kept[asked], target.values[asked], guess)
        truth = target.values[asked]
        found.append(
            finding(
                Attacker.TREES,
                target.name,
                promised,
                measured_left(guess - truth, truth - target.values[there].mean()),
                univariate=None if target.of_record else _univariate(rows, place),
            )
        )
    return found


def _some(wanted: list[tuple[int, Target]], most: int | None) -> list[tuple[int, Target]]:
    """At most `most` of the targets; of the record's the commonest category of each column first."""
    if most is None or len(wanted) <= most:
        return wanted
    numbers = [one for one in wanted if not one[1].of_record]
    records = {one[1].name.rpartition(", category")[0]: one for one in reversed(wanted)}
    commonest = [one for one in reversed(records.values()) if one[1].of_record]
    reserved = min(len(commonest), max(most // 3, most - len(numbers)))
    return numbers[: most - reserved] + commonest[:reserved]


def _features(rows: ReleasedRows) -> tuple[FloatArray, list[int]]:
    """Numbers and codes shown, and which of the columns are categorical to the trees."""
    d = len(rows.names)
    shown = rows.shown.astype(np.float64)
    if rows.kept is not None:
        shown = np.where(rows.kept[:, None], shown, np.nan)
    few = [j for j, column in enumerate(rows.shown.T) if column.max(initial=0) < MOST_CODES]
    codes = shown + (0 if not shown.size else -min(0.0, float(np.nanmin(rows.shown))))
    return np.hstack([rows.released, codes]), [d + j for j in few]


def _univariate(rows: ReleasedRows, place: int) -> float | None:
    """What the best guess from the column alone leaves, at the noise that the copy has."""
    values, seen = rows.numbers[:, place], rows.released[:, place]
    noise_variance = float(np.nanvar(seen - values))
    return best_guess_error(values, noise_variance) if noise_variance > 0 else 0.0
