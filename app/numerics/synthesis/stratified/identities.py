"""Exact linear identities among numeric columns: detection, removal, reconstruction with totals kept.

A total beside its parts is a fact about the table that mixing keeps only nearly. So one column of each relation
takes no part in the synthesis and is computed from the others afterwards. Each part has its own distribution
exactly, and their sum has what their dependence makes of it, which a synthesis keeps only nearly. So a part's
values change places, hardly any far: the total that a record should have by its rank is taken, and the part's
values are given out in the order of what the record would need for it. No column but the total changes its values
for that. Columns that are mostly equal to a part go where it goes.

| symbol | name here | meaning |
| --- | --- | --- |
| X | `values`, (n, p) | numeric columns, NaN for missing |
| x_t = c + Σ w_k·x_k | `Identity` | t the column left out, the k's those that stay: a total and its parts |
| T_(1) ≤ … ≤ T_(m) | `wanted` | the original's total, at as many ranks as there are synthetic records |
| x_k + (T − x_t)/w_k | | what a record would need in part k for the total of its rank |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import linalg

from app.numerics.arrays import FloatArray, Places
from app.numerics.synthesis.moments import centre_and_spread
from app.numerics.utility.quality import kolmogorov_smirnov

LEAST_RECORDS_PER_COLUMN = 3
"""With fewer complete records than this for each column, relations hold by chance."""

TOLERANCE = 1e-9
"""Largest residual of an exact relation, in standard deviations of the column that is left out."""

NULL_SHARE = 1e-8
"""A singular value this small beside the largest is a direction in which nothing varies."""

NEGLIGIBLE = 1e-6
MOST_DENOMINATOR = 1000


@dataclass(frozen=True)
class Identity:
    """Column `total` = `constant` + Σ weight·column, exactly but for rounding."""

    total: int
    constant: float
    weights: tuple[tuple[int, float], ...]

    def computed(self, values: FloatArray) -> FloatArray:
        """The column left out, (n,), from `values` (n, p)."""
        found = np.full(len(values), self.constant)
        for column, weight in self.weights:
            found += weight * values[:, column]
        return found


def identities(values: FloatArray) -> tuple[Identity, ...]:
    """The exact relations of `values` (n, p), none of which uses a column that another one leaves out.

    Looked for among the records in which no column is missing. Of each relation the column of the
    largest spread is left out: a total is, and computing a part as a difference could make it
    negative. Columns that are constant are in no relation; one row of a thousand that does not fit
    makes it none.
    """
    complete = values[~np.isnan(values).any(axis=1)]
    if len(complete) < 2:
        return ()
    mean, deviation = centre_and_spread(complete)
    varying = np.flatnonzero(deviation > 0)
    if len(complete) < LEAST_RECORDS_PER_COLUMN * varying.size or varying.size < 2:
        return ()
    by_spread = varying[np.argsort(-deviation[varying], kind="stable")]
    normal = (complete[:, by_spread] - mean[by_spread]) / deviation[by_spread]
    triangular = linalg.qr(normal, mode="r")[0][: by_spread.size]
    _, lengths, directions = linalg.svd(triangular)
    null = directions[lengths < NULL_SHARE * lengths[0]]
    found = []
    for relation in _reduced(null):
        total = int(np.flatnonzero(np.abs(relation) > 0.5)[0])
        others = np.flatnonzero(np.abs(relation) > NEGLIGIBLE)
        weights = [
            (
                int(by_spread[k]),
                -relation[k] * deviation[by_spread[total]] / deviation[by_spread[k]],
            )
            for k in others
            if k != total
        ]
        identity = _exact(complete, int(by_spread[total]), weights, deviation[by_spread[total]])
        if identity is not None:
            found.append(identity)
    return _independent(found)


def _reduced(null: FloatArray) -> FloatArray:
    """Rows that span the same space, each with a leading 1 in a column where the others have 0.

    Columns stand in the order in which they should be left out, so the first that can lead does.
    """
    rows = null.copy()
    done = 0
    for column in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.abs(rows[done:, column]).argmax())
        if abs(rows[pivot, column]) < NEGLIGIBLE:
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        for other in range(len(rows)):
            if other != done:
                rows[other] -= rows[other, column] * rows[done]
        done += 1
    return rows[:done]


def _exact(
    complete: FloatArray, total: int, weights: list[tuple[int, float]], deviation: float
) -> Identity | None:
    """The identity with weights and constant made simple where that fits as well; None where none fits."""
    simple = [
        (column, float(Fraction(weight).limit_denominator(MOST_DENOMINATOR)))
        for column, weight in weights
    ]
    for candidate in (simple, weights):
        rest = complete[:, total] - Identity(total, 0.0, tuple(candidate)).computed(complete)
        constant = float(np.median(rest))
        near = float(np.round(constant, 6))
        scale = max(deviation, float(np.abs(complete[:, total]).max()) * 1e-3)
        if np.abs(rest - constant).max() <= TOLERANCE * scale:
            fits = np.abs(rest - near).max() <= TOLERANCE * scale
            return Identity(total, near if fits else constant, tuple(candidate))
    return None


def _independent(found: list[Identity]) -> tuple[Identity, ...]:
    """Those that use no column which another one leaves out: each can then be computed alone."""
    totals = {identity.total for identity in found}
    return tuple(
        identity for identity in found if not totals & {column for column, _ in identity.weights}
    )


MOST_APART = 0.01
"""Kolmogorov-Smirnov distance that a total may have from the original's."""

MOST_STEPS = 10


def balanced(
    values: FloatArray,
    original: FloatArray,
    found: Sequence[Identity],
    together: Mapping[int, Sequence[int]],
) -> FloatArray:
    """`values` (m, p), parts without a missing cell, with the totals of `found` distributed as in `original` (n, p).

    `together` says of a part which columns move with it, itself among them. Of all steps the one stays whose worst total is closest: where the
    parts cannot make the distribution, or there are too few records for it, that may be the first.
    """
    made, best = values.copy(), values
    least = _worst(values, original, found)
    for _ in range(MOST_STEPS):
        if least <= MOST_APART:
            break
        for identity in found:
            for part, weight in identity.weights:
                given, taken = _moved(made, original, identity, part, weight)
                columns = np.array(together.get(part, (part,)))
                made[np.ix_(taken, columns)] = made[np.ix_(given, columns)]
        apart = _worst(made, original, found)
        if apart < least:
            best, least = made.copy(), apart
    return best


def _worst(values: FloatArray, original: FloatArray, found: Sequence[Identity]) -> float:
    """The largest distance of a total from the original's."""
    return max(kolmogorov_smirnov(_known(original, each), each.computed(values)) for each in found)


def _known(original: FloatArray, identity: Identity) -> FloatArray:
    total = original[:, identity.total]
    return total[~np.isnan(total)]


def _moved(
    values: FloatArray, original: FloatArray, identity: Identity, part: int, weight: float
) -> tuple[Places, Places]:
    """Records, (m,), by what they have in the part and by what they need there for the total of their rank."""
    total, known = identity.computed(values), np.sort(_known(original, identity))
    m = total.size
    wanted = np.empty(m)
    wanted[np.argsort(total, kind="stable")] = known[(np.arange(m) * 2 + 1) * known.size // (2 * m)]
    needed = values[:, part] + (wanted - total) / weight
    return np.argsort(values[:, part], kind="stable"), np.argsort(needed, kind="stable")
