"""The best linear attacker on numbers and categories together, without and with the kept rows told.

It knows every mean and covariance of originals and copy: it learns them from half of the true rows and
is measured on the other half, then the other way round. So it is as good against any release as
against the one that the service makes, and a scheme that leaks finds no shelter in its own formulas.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.numerics.arrays import Flags, FloatArray
from app.numerics.attacks.releases.findings import Attacker, Finding, finding, measured_left
from app.numerics.attacks.releases.released_rows import (
    ReleasedRows,
    Target,
    category_features,
    number_features,
    targets,
)

ROWS_FOR_EACH = 20
"""Rows to learn from for each coefficient; with fewer, features are left out."""


def joint_linear(rows: ReleasedRows, promised: float, rng: np.random.Generator) -> list[Finding]:
    """What the best linear guess from all that is released leaves of every target."""
    wanted = targets(rows)
    missed = _missed(_features(rows), wanted, halves(len(rows.numbers), rng))
    return [
        finding(Attacker.LINEAR, target.name, promised, measured_left(error, deviation))
        for target, (error, deviation) in zip(wanted, missed, strict=True)
    ]


def joint_linear_kept(
    rows: ReleasedRows, promised: float, rng: np.random.Generator
) -> list[Finding]:
    """The same for one who is told which records were kept: of those it has the whole record."""
    if rows.kept is None or not rows.category_names:
        return []
    kept = rows.kept
    wanted = targets(rows)
    folds = halves(len(rows.numbers), rng)
    of_kept = _missed(_features(rows), wanted, folds, kept)
    of_others = _missed(number_features(rows), wanted, folds, ~kept)
    found = []
    for target, (error, deviation), other in zip(wanted, of_kept, of_others, strict=True):
        errors = [np.zeros_like(error) if target.of_record else error, other[0]]
        left = measured_left(np.concatenate(errors), np.concatenate([deviation, other[1]]))
        found.append(finding(Attacker.LINEAR_KEPT, target.name, promised, left))
    return found


def _features(rows: ReleasedRows) -> FloatArray:
    """All that is released, as far as half of the rows could tell its coefficients."""
    most = len(rows.numbers) // ROWS_FOR_EACH
    return np.hstack([number_features(rows), category_features(rows, most)])


def halves(n: int, rng: np.random.Generator) -> Flags:
    """Half of n rows at random, (n,)."""
    chosen = np.zeros(n, np.bool_)
    chosen[rng.permutation(n)[: n // 2]] = True
    return chosen


def _missed(
    features: FloatArray, wanted: Sequence[Target], folds: Flags, group: Flags | None = None
) -> list[tuple[FloatArray, FloatArray]]:
    """Of each target the errors of the guess, and the deviations from the mean of all rows, where it
    is there. Targets that are there in the same rows are guessed at once."""
    together: dict[bytes, list[int]] = {}
    present = [~np.isnan(target.values) for target in wanted]
    for place, there in enumerate(present):
        together.setdefault(there.tobytes(), []).append(place)
    found: dict[int, tuple[FloatArray, FloatArray]] = {}
    for places in together.values():
        there = present[places[0]]
        used = there if group is None else there & group
        values = np.stack([wanted[place].values for place in places], axis=1)
        mean = values[there].mean(axis=0) if there.any() else np.zeros(len(places))
        guess = crossfitted(features[used], values[used], folds[used])
        errors, deviations = guess - values[used], values[used] - mean
        found |= {place: (errors[:, i], deviations[:, i]) for i, place in enumerate(places)}
    return [found[place] for place in range(len(wanted))]


def crossfitted(features: FloatArray, values: FloatArray, folds: Flags) -> FloatArray:
    """Least squares guesses of values (n, t) from features (n, p), each from the other half's rows.

    With fewer than 20 rows for each coefficient the last features are left out, the guess being the
    mean when none is left.
    """
    guess = np.empty_like(values)
    for mine in (folds, ~folds):
        other = ~mine
        most = int(other.sum()) // ROWS_FOR_EACH
        guess[mine] = _fitted(features[other][:, :most], values[other], features[mine][:, :most])
    return guess


def _fitted(known: FloatArray, values: FloatArray, asked: FloatArray) -> FloatArray:
    if not len(known):
        return np.zeros((len(asked), values.shape[1]))
    centre, mean = known.mean(axis=0), values.mean(axis=0)
    spread = known.std(axis=0)
    varied: Flags = spread > 0
    scaled = (known[:, varied] - centre[varied]) / spread[varied]
    weights = np.linalg.lstsq(scaled, values - mean, rcond=1e-13)[0]
    return np.asarray((asked[:, varied] - centre[varied]) / spread[varied] @ weights + mean)
