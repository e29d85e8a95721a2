"""Exact linear relations among numeric columns: found, left out, and computed back.

A total beside its parts is a fact about the table that mixing keeps only nearly. So one column of each
relation takes no part in the synthesis and is computed from the others afterwards.

| symbol | name here | meaning |
| --- | --- | --- |
| X | `values`, (n, p) | numeric columns, NaN for missing |
| x_t = c + Σ w_k·x_k | `Identity` | t the column left out, the k's those that stay |
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import linalg

from app.numerics.arrays import FloatArray
from app.numerics.synthesis.moments import centre_and_spread

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
    complete: FloatArray,
    total: int,
    weights: list[tuple[int, float]],
    deviation: float,
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
