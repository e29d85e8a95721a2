"""Rows of a found table, matched to those of a copy by nearest neighbour in units of the noise.

| here | meaning |
|---|---|
| T | found rows, (m, k), in any order |
| Y_0 | the copy with the least noise, (n, k) |
| N | covariance of its noise in these columns, (k, k) = L·Lᵀ |

A row is matched to the nearest in ‖L⁻¹(T - Y_0)‖, and only where the second nearest is clearly further:
others are as likely to be somebody else's. Increments of the noise do not depend on Y_0, so that what is
matched by it favours nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial import cKDTree

from app.numerics.arrays import FloatArray, Places
from app.numerics.copies.shapes.shape import shape_factor

CLEARLY = 0.8
"""Of the distance of the second nearest, that the nearest must be within."""

FEW_COLUMNS = 12
"""Up to so many columns a tree is faster than all distances."""


@dataclass(frozen=True, repr=False)
class Matches:
    """Places of found rows and of the copy's rows that they are matched to, (p,) each."""

    found: Places
    copy: Places


def matched_rows(found: FloatArray, copy: FloatArray, noise: FloatArray) -> Matches:
    """The rows of `found` that have one clear match among those of `copy`.

    Rows with a missing cell are left out. A row of the copy that several found rows are matched to is
    left to the nearest of them.
    """
    here = np.flatnonzero(~np.isnan(found).any(axis=1))
    there = np.flatnonzero(~np.isnan(copy).any(axis=1))
    if not len(here) or len(there) < 2:
        nothing = np.empty(0, dtype=np.intp)
        return Matches(nothing, nothing)
    L = shape_factor(noise)
    points, copies = (_whitened(rows, L) for rows in (found[here], copy[there]))
    distances, nearest = _two_nearest(points, copies)
    clear = np.flatnonzero(distances[:, 0] < CLEARLY * distances[:, 1])
    order = clear[np.argsort(distances[clear, 0], kind="stable")]
    _, firsts = np.unique(nearest[order, 0], return_index=True)
    chosen = order[firsts]
    return Matches(here[chosen], there[nearest[chosen, 0]])


def _whitened(rows: FloatArray, L: FloatArray) -> FloatArray:
    unit = np.sqrt((L**2).sum(axis=1))
    return np.asarray(solve_triangular(L / unit[:, None], (rows / unit).T, lower=True).T)


def _two_nearest(points: FloatArray, copies: FloatArray) -> tuple[FloatArray, Places]:
    """Distances and places of the two nearest, (m, 2) each."""
    if copies.shape[1] <= FEW_COLUMNS:
        distances, places = cKDTree(copies).query(points, k=2)
        return np.asarray(distances), np.asarray(places, dtype=np.intp)
    found = np.empty((len(points), 2))
    which = np.empty((len(points), 2), dtype=np.intp)
    lengths = (copies**2).sum(axis=1)
    step = max(1, 20_000_000 // len(copies))
    for start in range(0, len(points), step):
        rows = points[start : start + step]
        squares = lengths - 2 * rows @ copies.T
        near = np.argpartition(squares, 1, axis=1)[:, :2]
        values = np.take_along_axis(squares, near, axis=1)
        order = np.argsort(values, axis=1)
        which[start : start + step] = np.take_along_axis(near, order, axis=1)
        values = np.take_along_axis(values, order, axis=1) + (rows**2).sum(axis=1)[:, None]
        found[start : start + step] = np.sqrt(np.maximum(values, 0.0))
    return found, which
