"""Whether few rows that come later are hidden by noise whose shape others gave.

A shape made of a handful of rows would give them away, so few rows use the newest shape as it is. Each
must then lie near the rows that it was made of, and all of them together must not spread further than it: a
hundred small parts at the edge would be a large one that the noise does not hide.

| here | meaning |
|---|---|
| x | a row less the centre of the shape, by the cells that it has |
| u | L⁻¹x, missing cells at their regression on the others under S = L·Lᵀ: uᵀu = x_oᵀ·S_oo⁻¹·x_o |
| A | Σ u·uᵀ over all rows of small parts |
| G | what A is expected to be of rows with the covariance S: n·I without gaps |
| ρ | √d + 4 |
| T | L'⁻¹L, from a shape S to the one that follows it, S' = L'·L'ᵀ |
| N | what A would be expected to be if all these rows had the newest shape: n·I without gaps |
| P | the projection on axes of N of which too few rows say something to look along each |
| m | trace(P·N·P), the cells that tell of them |
| c | trace(P·A·P)/m, how much further rows spread along all of them than the newest shape |

Of normal rows with the covariance S, uᵀu ≤ ρ² and A ⪯ (√G + ρ·I)² but for a chance of e⁻⁸. Where that holds
of n rows, w·X varies by at most (1 + ρ/√n)² of wᵀSw, in every direction w.

A larger part brings another shape, and small parts before it keep theirs. They are not forgotten: T·A·Tᵀ and
T·G·Tᵀ are their rows, and what hides them, in the measure of the new shape, and the next small part is added to
them. Else a harmless large part before each small one would make every small part the first.

What may be chance in a few rows is a shortfall in many. So once there are enough rows for a shape, and they spread
further than the newest one by more than √d, which is what normal rows do on average, the next shape is joined to
theirs: R = N^-½·A·N^-½, grown by λ = d/n as in every shape (`shape.py`), and S' = L·(I ∨ (1+λ)·R)·Lᵀ.

Rows that all lack a column say nothing in a direction, and N is 0 there. Looked at are the directions along the axes of N of which
enough rows say something; d is how many these are.

Rows that have 2 of 14 nearly equal columns say something in 2 of 14 dimensions, each in others: no axis but one is told of by
many, and yet all of them together tell by how much they spread further. So the other axes are looked at together: m·c is a sum of
squares of normals, with weights of at most 1 and m in all, and beyond m + 2√(m·x) + 2x with a chance of e⁻ˣ at most
(Laurent and Massart 2000, lemma 1). Where it is, and m is as many as the rows that a shape needs, all of P is widened, by c·(1 + √(2/m))², as chance
may have made it smaller. That is one number of hundreds of cells and gives no row away, so a part's own cells may be enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from app.numerics.arrays import FloatArray
from app.numerics.copies.shapes.shape import shape_factor

LIKELY = 2.0
"""x for all small parts, which are looked at with each: beyond it by chance in one of seven, and by little as they grow."""


@dataclass(frozen=True)
class SmallParts:
    """All rows of small parts in the measure of a shape: A, G, N, and the largest uᵀu of a row, each under its own."""

    squares: FloatArray
    expected: FloatArray
    counted: FloatArray
    largest: float

    @classmethod
    def none(cls, d: int) -> SmallParts:
        """No row yet."""
        return cls(np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d)), 0.0)

    def merged(self, other: SmallParts) -> SmallParts:
        """Both together."""
        return SmallParts(
            self.squares + other.squares,
            self.expected + other.expected,
            self.counted + other.counted,
            max(self.largest, other.largest),
        )

    def under(self, before: FloatArray, after: FloatArray) -> SmallParts:
        """The same rows, and what hides them, in the measure of another shape; L of both."""
        T = measure(before, after)
        return SmallParts(
            T @ self.squares @ T.T, T @ self.expected @ T.T, self.counted, self.largest
        )

    def widened(self, L: FloatArray, needed: int) -> FloatArray | None:
        """S' by these rows, in the measure of L; None where it covers them, or they are fewer than `needed`.

        So many rows are needed along an axis, and so many cells along all axes that have fewer.
        """
        rows, U = np.linalg.eigh(self.counted)
        enough = rows + 0.5 >= needed  # counted with rounding
        apart = _further_apart(self.squares, rows[enough], U[:, enough])
        few = rows[~enough], U[:, ~enough]
        together = further_together(self.squares, *few, needed, LIKELY)
        if apart is None and together is None:
            return None
        spread = np.eye(len(L))
        for further in (apart, together):
            spread += 0.0 if further is None else further
        return wider_shape(L, spread)

    @property
    def covered(self) -> bool:
        """Whether every row is near, and all of them spread no further than what hides them."""
        d = len(self.squares)
        reach = math.sqrt(d) + 4.0
        if not self.largest <= reach**2:
            return False
        spread, U = np.linalg.eigh(self.expected)
        limit = U * (np.sqrt(np.maximum(spread, 0.0)) + reach) ** 2 @ U.T
        return bool(np.linalg.eigvalsh(limit - self.squares)[0] >= 0) if d else True


def _further_apart(squares: FloatArray, rows: FloatArray, U: FloatArray) -> FloatArray | None:
    """What (1+λ)·R has beyond I along these axes (d, k) of N, (d, d); None where it may be chance in so many rows (k,)."""
    if not len(rows):
        return None
    squares = U.T @ squares @ U
    k = len(rows)
    chance = np.diag((np.sqrt(rows) + math.sqrt(k)) ** 2)
    if np.linalg.eigvalsh(chance - squares)[0] >= 0:
        return None
    R = squares / np.sqrt(np.outer(rows, rows))
    spread, V = np.linalg.eigh((1 + min(1.0, k / rows[0])) * R)
    further = U @ V * np.sqrt(np.maximum(spread - 1.0, 0.0))
    return np.asarray(further @ further.T)


def further_together(
    squares: FloatArray, rows: FloatArray, U: FloatArray, needed: int, x: float
) -> FloatArray | None:
    """The same of these axes together: what c, grown, has beyond 1, times P; (d, d).

    None where they have fewer cells than `needed`, or c is that of one in eˣ by chance. An axis of which no row says anything stays.
    """
    told = rows > 0.5
    rows, U = rows[told], U[:, told]
    m = float(rows.sum())
    if m + 0.5 < needed:
        return None
    c = float(np.trace(U.T @ squares @ U)) / m
    if c <= 1 + 2 * math.sqrt(x / m) + 2 * x / m:
        return None
    return np.asarray((c * (1 + math.sqrt(2 / m)) ** 2 - 1) * U @ U.T)


def measure(before: FloatArray, after: FloatArray) -> FloatArray:
    """T, from the measure of a shape to that of another; L of both."""
    unit = np.sqrt((after**2).sum(axis=1))[:, None]
    return np.asarray(solve_triangular(after / unit, before / unit, lower=True))


def wider_shape(L: FloatArray, spread: FloatArray) -> FloatArray:
    """L·spread·Lᵀ, in the scale of the columns."""
    unit = np.sqrt((L**2).sum(axis=1))
    C = L / unit[:, None]
    return np.asarray(C @ spread @ C.T * np.outer(unit, unit))


def small_part(rows: FloatArray, centre: FloatArray, L: FloatArray) -> SmallParts:
    """Rows (n, d) of one small part, missing cells NaN, under the shape of this centre and factor."""
    d = len(L)
    deviation = rows - centre
    found = SmallParts.none(d)
    present = ~np.isnan(deviation)
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    unit = np.sqrt((L**2).sum(axis=1))
    C = L / unit[:, None]
    for number, pattern in enumerate(patterns):
        if pattern.any():
            x = (deviation[which.ravel() == number] / unit)[:, pattern]
            found = found.merged(_of_pattern(x, C[pattern]))
    return found


def _of_pattern(x: FloatArray, C: FloatArray) -> SmallParts:
    """Rows that all have the same cells; C (o, d) is L of these, in the scale of the columns.

    x_o = C·z for the standard normals z of a row, and u is the expectation of z given x_o.
    """
    inner = shape_factor(C @ C.T)
    projection = solve_triangular(inner, C, lower=True)
    with np.errstate(over="ignore", invalid="ignore"):
        whitened = solve_triangular(inner, x.T, lower=True, check_finite=False)
        lengths = (whitened**2).sum(axis=0)
        u = projection.T @ whitened
        squares = u @ u.T
    largest = float(lengths.max()) if np.isfinite(squares).all() else math.inf
    expected = x.shape[0] * (projection.T @ projection)
    return SmallParts(squares, expected, expected, largest)
