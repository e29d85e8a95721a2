"""Best linear attacker in closed form: it knows all means and covariances of originals and copy.

Measured, it is least squares on the rows themselves, the residual variance being Σ error²/(n - p - 1) [unbiased in
expectation for p coefficients]. It knows nothing of how noise is made, and so is as good against a scheme that leaks.

Of combinations w of a part's numbers, with covariance K, the worst has the least r = wᵀ(aS)w/wᵀKw: r/(1+r) is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.numerics.arrays import Codes, FloatArray, Places
from app.numerics.attacks.releases.findings import (
    Attacker,
    Finding,
    RemainingVariance,
    Risk,
    finding,
    measured_left,
)
from app.numerics.attacks.releases.posterior_mean import PartNoiseLaw
from app.numerics.attacks.releases.released_rows import (
    MOST_CATEGORIES,
    AttackTarget,
    ReleasedRows,
    targets,
)
from app.numerics.cancellation import checkpoint

ROWS_FOR_EACH = 20
"""Rows to learn from for each coefficient; with fewer, the last features are left out."""

MOST_POOLED = 4_000
"""Rows on which pooled copies are attacked, the first."""

NO_SPREAD = 1e-14
"""Share of the variance, in the scale of the columns, below which a direction of K is none."""

DEFECT = "Do not issue this level, and report the defect: the copy has less noise than it should."


def best_linear(
    rows: ReleasedRows, wanted: Sequence[AttackTarget], promised: float, rng: np.random.Generator
) -> list[Finding]:
    """Variance that the best linear guess leaves of every target, and of each part's worst combination."""
    features = np.hstack([number_features(rows.released), category_features(rows.shown)])
    lefts = [
        (target.name, target.columns, left)
        for target, left in zip(wanted, measured(rows, features, wanted), strict=True)
    ]
    for law, originals, _ in rows.each_part() if rows.names else ():
        name = f"a combination of numbers, part {rows.parts[originals[0]]}"
        lefts.append((name, rows.names, _worst_combination(law, rows.numbers[originals], rng)))
    return [
        finding(Risk.INFERENCE, Attacker.LINEAR, name, columns, promised, left, DEFECT)
        for name, columns, left in lefts
    ]


def _worst_combination(
    law: PartNoiseLaw, numbers: FloatArray, rng: np.random.Generator
) -> RemainingVariance:
    """r/(1+r) of the combination that is worst on half of the rows, on the other half."""
    complete = rng.permutation(numbers[~np.isnan(numbers).any(axis=1)])
    if len(complete) < 4 or not complete.shape[1]:
        return RemainingVariance(1.0, 0.0)
    half = complete[::2]
    w = worst_combination(law.covariance, np.atleast_2d(np.cov(half.T)))
    squares = ((complete[1::2] - complete[1::2].mean(axis=0)) @ w) ** 2
    if not squares.sum() > 0:
        return RemainingVariance(1.0, 0.0)
    r = float(w @ law.covariance @ w) * (len(squares) - 1) / float(squares.sum())
    error = float(squares.std() / squares.mean()) / np.sqrt(len(squares))
    return RemainingVariance(r / (1 + r), error * r / (1 + r) ** 2)


def worst_combination(N: FloatArray, K: FloatArray) -> FloatArray:
    """w (d,) with the least wᵀNw/wᵀKw, over directions in which K (d, d) has spread; 0 where there are none."""
    w = np.zeros(len(K))
    unit = np.sqrt(np.diag(K))
    varied = np.flatnonzero(unit > 0)
    if len(varied):
        among, scale = np.ix_(varied, varied), np.outer(unit[varied], unit[varied])
        spread, U = np.linalg.eigh(K[among] / scale)
        there = spread > NO_SPREAD * spread[-1]
        white = U[:, there] / np.sqrt(spread[there])
        w[varied] = (
            white @ np.linalg.eigh(white.T @ (N[among] / scale) @ white)[1][:, 0] / unit[varied]
        )
    return w


def measured(
    rows: ReleasedRows, features: FloatArray, wanted: Sequence[AttackTarget]
) -> list[RemainingVariance]:
    """Variance that least squares on features (m, p) leaves of each target; parts with many rows alone."""
    parts = rows.parts[rows.own]
    together: dict[
        bytes, list[int]
    ] = {}  # targets that are there in the same rows are guessed at once
    for place, target in enumerate(wanted):
        together.setdefault(np.isnan(target.values).tobytes(), []).append(place)
    found: dict[int, RemainingVariance] = {}
    for places in together.values():
        values = np.stack([wanted[place].values for place in places], axis=1)[rows.own]
        there = ~np.isnan(values[:, 0])
        errors, deviations = [values[:0]], [values[:0]]
        for group in _groups(rows, features.shape[1]):
            used = group[there[group]]
            if len(used) > 1:
                deviations.append(_centred(values[used], parts[used]))
                errors.append(_residuals(_centred(features[used], parts[used]), deviations[-1]))
        error, deviation = np.concatenate(errors), np.concatenate(deviations)
        found |= {
            place: measured_left(error[:, i], deviation[:, i]) for i, place in enumerate(places)
        }
    return [found[place] for place in range(len(wanted))]


def pooled_left(copies: Sequence[ReleasedRows]) -> float:
    """The mean share that is left of the numbers by copies of the same rows in one hand, the least perturbed first.

    Of the categories, where there is no number.
    """
    first = np.arange(min(len(copies[0].numbers), MOST_POOLED))
    copies = [copy.some(first).in_units() for copy in copies]
    rows = copies[0]
    features = [number_features(copy.released) for copy in copies] + [category_features(rows.shown)]
    wanted = targets(rows, np.random.default_rng(0))
    numbers = [target for target in wanted if len(target.numbers) == 1] or wanted
    left = measured(rows, np.hstack(features), numbers)
    return float(np.mean([one.share for one in left])) if left else 1.0


def _groups(rows: ReleasedRows, p: int) -> list[Places]:
    """Released rows of each part with enough of them, and those of all others together."""
    parts = [released for _, _, released in rows.each_part()]
    large = [one for one in parts if len(one) >= ROWS_FOR_EACH * (p + 1)]
    small = [one for one in parts if len(one) < ROWS_FOR_EACH * (p + 1)]
    return [*large, *([np.concatenate(small)] if small else [])]


def _centred(values: FloatArray, parts: Places) -> FloatArray:
    """Values (n, …) less the mean of their part."""
    found = values.copy()
    for part in np.unique(parts):
        found[parts == part] -= values[parts == part].mean(axis=0)
    return found


def _residuals(features: FloatArray, values: FloatArray) -> FloatArray:
    """Residuals (n, t) of least squares, stretched so that their mean square estimates the error without bias."""
    n = len(values)
    guesses, rank = _least_squares(features[:, : n // ROWS_FOR_EACH], values)
    return np.asarray((values - guesses) * np.sqrt(n / (n - rank - 1)))


def fitted(features: FloatArray, values: FloatArray) -> FloatArray:
    """Guesses of values (n, t) from features (n, p) by one who knows all means and covariances of both."""
    mean = values.mean(axis=0)
    return np.asarray(mean + _least_squares(features - features.mean(axis=0), values - mean)[0])


def _least_squares(features: FloatArray, values: FloatArray) -> tuple[FloatArray, int]:
    """Fitted values (n, t) and the number of coefficients; both arrays are centred."""
    spread = features.std(axis=0)
    known = features[:, spread > 0] / spread[spread > 0]
    if not known.shape[1]:
        return np.zeros_like(values), 0
    checkpoint()
    weights, _, rank, _ = np.linalg.lstsq(known, values, rcond=1e-13)
    return known @ weights, int(rank)


def number_features(released: FloatArray) -> FloatArray:
    """The released numbers, gaps at the mean and marked, (m, p)."""
    gaps = np.isnan(released)
    mean = np.nanmean(np.where(gaps.all(axis=0), 0.0, released), axis=0)
    marks = gaps[:, gaps.any(axis=0)].astype(np.float64)
    return np.hstack([np.where(gaps, 0.0, released - mean), marks])


def category_features(codes: Codes) -> FloatArray:
    """Indicators of the most frequent categories, all but one of each column, (m, p)."""
    columns = [np.empty((len(codes), 0))]
    for column in codes.T:
        frequent = np.argsort(-np.bincount(column), kind="stable")[:MOST_CATEGORIES]
        columns.append((column[:, None] == frequent[1:]).astype(np.float64))
    return np.hstack(columns)
