"""Tracing: which recipient's copy a found table was made from, by regression on the copies' differences.

Slots are variances of recipients' own, a little above their level's. Two slots too near each other could not be
told apart, so there are 128 of them, spaced evenly within 1 % above the level, and each recipient has one of its
own: as far from the others', and from the level itself, as one is free. Copies next to each other are what tracing
confuses, so up to 64 recipients are two slots apart at least.

Rows of a found table are matched to those of a copy by nearest neighbour in units of the noise.

| here | meaning |
|---|---|
| T | found rows, (m, k), in any order |
| Y_0 | the copy with the least noise, (n, k) |
| N | covariance of its noise in these columns, (k, k) = L·Lᵀ |

A row is matched to the nearest in ‖L⁻¹(T - Y_0)‖, and only where the second nearest is clearly further:
others are as likely to be somebody else's. Increments of the noise do not depend on Y_0, so that what is
matched by it favours nobody.

Which copies the table was made of is told by T - Y_0 regressed on the differences Y_r - Y_0.

| here | meaning |
|---|---|
| T, Y_0 | found rows and the rows of the least perturbed copy that they are matched to, (p, k) |
| D_r | Y_r - Y_0 of the same rows, for recipients 1 ≤ r ≤ R |
| w | (R,), T = Y_0 + Σ_r w_r·D_r + e: the share that each copy has in the table |

Everything is in units of the noise, in which all columns count alike. D_r is a path's increment and does
not depend on Y_0: of who has no part in the table w_r/s_r is standard normal, s_r its standard error. Wrong
matches are rows with large residuals: those beyond four typical ones are left out, and the rest is
regressed again. Standard errors hold for residuals that differ from row to row (White's).

The chance of naming somebody wrongly is that of R such normals together, by Bonferroni.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.linalg import solve_triangular
from scipy.special import ndtr

from app.numerics.arrays import FloatArray, Places
from app.numerics.copies.shapes.shape import shape_factor

SLOTS = 128
WIDTH = 0.01
"""How far above the level's variance the last slot lies, as a share of it."""


def slot_variance(noise_variance: float, slot: int) -> float:
    """The variance of a slot, 1 ≤ slot ≤ 128."""
    if not 1 <= slot <= SLOTS:
        raise ValueError("a slot is a number from 1 to 128")
    return noise_variance * (1 + WIDTH * slot / SLOTS)


def free_slot(taken: Collection[int], rng: np.random.Generator) -> int | None:
    """Return a random slot among those furthest from all slots in use; None where none is left."""
    used = np.array([0, *taken])
    distances = np.abs(np.arange(1, SLOTS + 1)[:, None] - used).min(axis=1)
    if not distances.any():
        return None
    return int(rng.choice(np.flatnonzero(distances == distances.max()) + 1))


CLEARLY = 0.8
"""Of the distance of the second nearest, that the nearest must be within."""

FEW_COLUMNS = 12
"""Columns up to which a k-d tree is faster than all distances."""


@dataclass(frozen=True, repr=False)
class RowMatches:
    """Places of found rows and of the copy's rows that they are matched to, (p,) each."""

    found: Places
    copy: Places


def matched_rows(found: FloatArray, copy: FloatArray, noise: FloatArray) -> RowMatches:
    """The rows of `found` that have one clear match among those of `copy`.

    Rows with a missing cell are left out. A row of the copy that several found rows are matched to is
    left to the nearest of them.
    """
    here = np.flatnonzero(~np.isnan(found).any(axis=1))
    there = np.flatnonzero(~np.isnan(copy).any(axis=1))
    if not len(here) or len(there) < 2:
        nothing = np.empty(0, dtype=np.intp)
        return RowMatches(nothing, nothing)
    L = shape_factor(noise)
    points, copies = (_whitened(rows, L) for rows in (found[here], copy[there]))
    distances, nearest = _two_nearest(points, copies)
    clear = np.flatnonzero(distances[:, 0] < CLEARLY * distances[:, 1])
    order = clear[np.argsort(distances[clear, 0], kind="stable")]
    _, firsts = np.unique(nearest[order, 0], return_index=True)
    chosen = order[firsts]
    return RowMatches(here[chosen], there[nearest[chosen, 0]])


def _whitened(rows: FloatArray, L: FloatArray) -> FloatArray:
    unit = np.sqrt((L**2).sum(axis=1))
    return np.asarray(solve_triangular(L / unit[:, None], (rows / unit).T, lower=True).T)


def _two_nearest(points: FloatArray, copies: FloatArray) -> tuple[FloatArray, Places]:
    """Distances and places of the two nearest, (m, 2) each."""
    if copies.shape[1] <= FEW_COLUMNS:
        distances, places = scipy.spatial.cKDTree(copies).query(points, k=2)
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


TRIMMINGS = 5
TYPICAL = 4.0
"""Residuals beyond this multiple of their median length are left out."""

FEWEST_ROWS = 10

LEAST_ERROR = 1e-3
"""Released numbers lie on a grid, and a table that is a copy to the bit has residuals of rounding alone."""


@dataclass(frozen=True)
class RecipientShare:
    """One recipient's share in a found table.

    where:
        weight          w_r
        standard_error  s_r
        error_chance    that someone without a part would be given so much, of all recipients together
    """

    weight: float
    standard_error: float
    error_chance: float


def shares(
    found: FloatArray, base: FloatArray, copies: Sequence[FloatArray], noise: FloatArray
) -> list[RecipientShare] | None:
    """The share of each copy in the found rows; None where too few rows tell.

    `found`, `base` and each of `copies` are (p, k), row by row the same; `noise` is the covariance of
    the noise of `base`, (k, k).
    """
    R = len(copies)
    L = shape_factor(noise)
    target = _whitened(found - base, L)
    D = np.stack([_whitened(copy - base, L) for copy in copies], axis=2)
    there = np.ones(len(found), dtype=bool)
    weights = np.zeros(R)
    for _ in range(TRIMMINGS):
        # As many values as a regression of R shares needs to have errors at all.
        if there.sum() < max(FEWEST_ROWS, 2 * R / found.shape[1]):
            return None
        weights = _fitted(target[there], D[there])
        lengths = np.linalg.norm(target - D @ weights, axis=1)
        kept = lengths <= TYPICAL * np.median(lengths[there]) + np.finfo(np.float64).tiny
        if (kept == there).all():
            break
        there = kept
    errors = np.maximum(_standard_errors(target[there], D[there], weights), LEAST_ERROR)
    chances = R * ndtr(-weights / errors)
    return [
        RecipientShare(float(w), float(s), float(min(1.0, chance)))
        for w, s, chance in zip(weights, errors, chances, strict=True)
    ]


def _fitted(target: FloatArray, D: FloatArray) -> FloatArray:
    design = D.reshape(-1, D.shape[2])
    return np.asarray(np.linalg.lstsq(design, target.ravel(), rcond=None)[0])


def _standard_errors(target: FloatArray, D: FloatArray, weights: FloatArray) -> FloatArray:
    """Roots of the diagonal of (XᵀX)⁻¹·Σ_i x_i·e_i·e_iᵀ·x_iᵀ·(XᵀX)⁻¹, rows i being independent."""
    design = D.reshape(-1, D.shape[2])
    inverse = np.linalg.pinv(design.T @ design, hermitian=True)
    scores = np.einsum("pkr,pk->pr", D, target - D @ weights)
    freedom = len(target) / max(len(target) - D.shape[2] / D.shape[1], 1.0)
    squares = np.diag(inverse @ (scores.T @ scores) @ inverse) * freedom
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))
