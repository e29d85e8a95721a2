"""Directions: linear combinations of the numbers, where noise that looks ample may be absent.

| here | meaning |
|---|---|
| X, Z | complete original rows of a part, and what the copy added to them, (n, d) |
| K, N | their covariances |
| r | min over w of wᵀNw/wᵀKw: the smallest noise beside the data over all combinations |

The best linear attacker is left with r/(1+r) of w·X. The worst w is found on half of the rows and measured
on the other half, so that it is not the worst by chance. Where a part has too few rows for that, r follows
from the noise's covariance and R = K_I + λ·diag(K_I) of the rows (`copies.shapes.shape`): a covariance of few rows
is no bound for what they could have been.

Rows with gaps are looked at by the columns that they have, every two columns and the frequent patterns
(`copies.shapes.covering.patterns`), beside the rows that have these and more: of all of these the set of columns that is
worst on one half.

The insider knows all attributes of a row but one, and so the noise of all but one. What is left of the
last is measured against what it could guess without the copy.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.numerics.arrays import Flags, FloatArray
from app.numerics.attacks.releases.findings import Attacker, Finding, Left, finding, measured_left
from app.numerics.attacks.releases.joint_linear import ROWS_FOR_EACH, crossfitted, halves
from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.copies.shapes.covering.patterns import Patterns
from app.numerics.copies.shapes.row_moments import row_moments

NO_SPREAD = 1e-14
"""Share of the variance, in the scale of the columns, below which a direction of K is none."""

MOST_PAIRS = 500
MOST_INSIDERS = 20
DETERMINED = 1e-20
"""Share of a column's variance below which the others leave nothing of it to protect."""


def worst_directions(
    rows: ReleasedRows,
    promised: float,
    rng: np.random.Generator,
    noise: Mapping[int, FloatArray] | None = None,
) -> list[Finding]:
    """The worst direction of each part; `noise` is the covariance (d, d) of each part's noise.

    Parts with fewer than 20·(d+1) complete rows need it, and are judged by their own rows or by those
    of all parts, whichever the noise covers better: it was shaped by one or the other.
    """
    complete = rows.complete
    d = len(rows.names)
    found = []
    for part in np.unique(rows.parts).tolist() if d else []:
        there = complete & (rows.parts == part)
        if there.sum() >= ROWS_FOR_EACH * (d + 1):
            X = rows.numbers[there]
            left = _measured(X, rows.released[there] - X, halves(len(X), rng))
        elif noise is not None and part in noise:
            of_part, of_all = rows.numbers[rows.parts == part], rows.numbers
            r = max(
                smallest_ratio(noise[part], _trusted(judged))[0] for judged in (of_part, of_all)
            )
            left = Left(_share(r), 0.0)
        else:
            continue
        found.append(finding(Attacker.DIRECTION, f"part {part}", promised, left))
    for part in np.unique(rows.parts).tolist() if d else []:
        gappy = _worst_with_gaps(rows, rows.parts == part, rng)
        if gappy is not None:
            found.append(
                finding(Attacker.DIRECTION, f"part {part}, rows with gaps", promised, gappy)
            )
    return found


def _worst_with_gaps(rows: ReleasedRows, there: Flags, rng: np.random.Generator) -> Left | None:
    """What is left in the worst direction over the rows that have some columns, all rows where all have them."""
    X = rows.numbers[there]
    present = ~np.isnan(X)
    if present.all():
        return None
    Z = rows.released[there] - X
    d = X.shape[1]
    pairs = [(j, k) for j in range(d) for k in range(j + 1, d)][:MOST_PAIRS]
    worst: tuple[float, Left] | None = None
    for columns in dict.fromkeys([*Patterns.of(X[~present.all(axis=1)]).sets(), *pairs]):
        having = present[:, columns].all(axis=1)
        if having.sum() < ROWS_FOR_EACH * (len(columns) + 1):
            continue
        data, added = X[having][:, columns], Z[having][:, columns]
        half = halves(len(data), rng)
        r, _ = smallest_ratio(_covariance(added[half]), _covariance(data[half]))
        if worst is None or r < worst[0]:
            worst = r, _measured(data, added, half)
    return None if worst is None else worst[1]


def smallest_ratio(N: FloatArray, K: FloatArray) -> tuple[float, FloatArray]:
    """r = min over w of wᵀNw/wᵀKw, and that w (d,), over directions in which K has spread."""
    unit = np.sqrt(np.maximum(np.diag(K), 0.0))
    varied = np.flatnonzero(unit > 0)
    if not len(varied):
        return np.inf, np.zeros(len(K))
    unit = unit[varied]
    scale = np.outer(unit, unit)
    spread, U = np.linalg.eigh(K[np.ix_(varied, varied)] / scale)
    there = spread > NO_SPREAD * spread[-1]
    white = U[:, there] / np.sqrt(spread[there])
    values, vectors = np.linalg.eigh(white.T @ (N[np.ix_(varied, varied)] / scale) @ white)
    w = np.zeros(len(K))
    w[varied] = white @ vectors[:, 0] / unit
    return max(0.0, float(values[0])), w


def insiders(rows: ReleasedRows, promised: float, rng: np.random.Generator) -> list[Finding]:
    """What the copy leaves of each attribute to one who knows all the others of the row.

    For the 20 attributes whose noise, given that of the others, is smallest beside the data.
    """
    complete = rows.complete
    X = rows.numbers[complete]
    Z = rows.released[complete] - X
    n, d = X.shape
    if d < 2 or n < 2 * ROWS_FOR_EACH * (2 * d + 1):
        return []
    folds = halves(n, rng)
    unit = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    X, Z = (X - X.mean(axis=0)) / unit, Z / unit
    exposed = np.argsort(_given_others(Z) / np.maximum(_given_others(X), DETERMINED))
    found = []
    for j in sorted(exposed[:MOST_INSIDERS].tolist()):
        others = np.delete(np.arange(d), j)
        without = X[:, j] - crossfitted(X[:, others], X[:, [j]], folds)[:, 0]
        if float((without**2).mean()) <= DETERMINED:
            continue  # the others determine it, with or without a copy
        # What is left of the column, and of its released cell, when the others are taken away.
        known = np.hstack([X[:, others], Z[:, others]])
        seen = X[:, j] + Z[:, j]
        rest = seen - crossfitted(known, seen[:, None], folds)[:, 0]
        guess = crossfitted(rest[:, None], without[:, None], folds)[:, 0]
        left = measured_left(without - guess, without)
        found.append(finding(Attacker.INSIDER, rows.names[j], promised, left))
    return found


def _measured(X: FloatArray, Z: FloatArray, half: np.ndarray) -> Left:
    """r/(1+r) of the direction that is worst on one half, on the other."""
    _, w = smallest_ratio(np.cov(Z[half].T, ddof=1).reshape(X.shape[1], -1), _covariance(X[half]))
    data, added = (X[~half] - X[~half].mean(axis=0)) @ w, (Z[~half] - Z[~half].mean(axis=0)) @ w
    spread = float((data**2).mean())
    if not spread > 0:
        return Left(1.0, 0.0)
    r = float((added**2).mean()) / spread
    relative = np.std(added**2 - r * data**2) / spread / np.sqrt(len(data))
    return Left(_share(r), float(relative) / (1 + r) ** 2)


def _covariance(X: FloatArray) -> FloatArray:
    return np.atleast_2d(np.cov(X.T, ddof=1))


def _trusted(numbers: FloatArray) -> FloatArray:
    """R of the rows."""
    moments = row_moments(numbers)
    K_I = moments.imputed_covariance()
    return K_I + min(1.0, len(K_I) / max(moments.complete_rows, 1)) * np.diag(np.diag(K_I))


def _given_others(values: FloatArray) -> FloatArray:
    """The variance of each column given all others, (d,): 1/(C⁻¹)_jj."""
    C = _covariance(values)
    spread, U = np.linalg.eigh(C)
    inverse = U**2 @ (1 / np.maximum(spread, DETERMINED))
    return np.asarray(1 / inverse)


def _share(r: float) -> float:
    return 1.0 if np.isinf(r) else r / (1 + r)
