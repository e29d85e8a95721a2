"""How far the last rows of small parts spread, before those before them outweigh what they show.

All small parts together (`small_parts`) tell of a spread that lasts; rows that begin to spread further after
hundreds that did not are hardly seen in their sum, and what is made of the sum stays behind them. So the newest rows
are also measured by themselves, in windows of 1, 2, 4, … times the rows that a shape needs: each fills with rows of
small parts, is looked at when it is full, and begins again. Short ones see soon what is large, long ones see what
is small.

| here | meaning |
|---|---|
| A, N | of the rows in a window, as of all small parts: Σ u·uᵀ, and what is expected of it |
| n | rows in a window |
| R | N^-½·A·N^-½ |

Of normal rows with the covariance S the largest eigenvalue of R is beyond (1 + (√d + 1)/√n)² in about one window of
500 (simulated for 1 to 20 columns). Where it is, the next shape is joined to what these rows may come from: R grown by
(1 + √d/√n)², as far as chance may have made it smaller than it is.

Axes of which fewer rows say something than a window is long are looked at together (`further_together`), with every part from
when some axis has so many: where rows have few of many columns each, most axes would be waited for in vain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.copies.shapes.covering.small_parts import (
    SmallParts,
    further_together,
    measure,
    wider_shape,
)
from app.numerics.copies.shapes.shape import joined

LENGTHS = 8
"""From 10·(d+1) rows to 128 times as many; what shows only in more is left to all small parts together."""

UNLIKELY = 6.0
"""x of axes that are looked at together: by chance one look in 400, about as often as along directions."""

RARELY = 1 / 8
"""Of the rows that say something along one axis: a window is not kept open for an axis of which fewer do."""


@dataclass(frozen=True)
class Windows:
    """A and N of the rows in every window, (LENGTHS, d, d), in the measure of a shape."""

    squares: FloatArray
    counted: FloatArray

    @classmethod
    def empty(cls, d: int) -> Windows:
        """No row yet."""
        return cls(np.zeros((LENGTHS, d, d)), np.zeros((LENGTHS, d, d)))

    def merged(self, part: SmallParts) -> Windows:
        """With the rows of one more small part."""
        return Windows(self.squares + part.squares, self.counted + part.counted)

    def under(self, before: FloatArray, after: FloatArray) -> Windows:
        """The same rows in the measure of another shape; L of both."""
        T = measure(before, after)
        return Windows(T @ self.squares @ T.T, self.counted)

    def looked_at(self, L: FloatArray, needed: int) -> tuple[FloatArray | None, Windows]:
        """S' that covers the full windows, in the measure of L, None where L does; and windows to go on with.

        `needed` are the rows of the shortest window.
        """
        d = len(L)
        if not d:
            return None, self
        full = [
            any(rows[:1] + 0.5 >= needed * 2**length)  # counted with rounding
            for length, (rows, _) in enumerate(map(_seen, self.counted))
        ]
        pairs = list(zip(self.squares, self.counted, strict=True))
        found = [
            _beyond_chance(*pair) for pair, is_full in zip(pairs, full, strict=True) if is_full
        ]
        found += [_together(*pair, needed * 2**length) for length, pair in enumerate(pairs)]
        spreads = [spread for spread in found if spread is not None]
        begun = np.array(full)[:, None, None]
        goes_on = Windows(np.where(begun, 0.0, self.squares), np.where(begun, 0.0, self.counted))
        return (wider_shape(L, reduce(joined, spreads, np.eye(d))) if spreads else None), goes_on


def _seen(counted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How many rows say something along each axis of N, (k,), and the axes, (d, k): those of which hardly any do are left out."""
    rows, U = np.linalg.eigh(counted)
    often = rows > RARELY * rows[-1]
    return rows[often], U[:, often]


def _beyond_chance(squares: FloatArray, counted: FloatArray) -> FloatArray | None:
    """What the rows of a full window may come from, in their measure; None where that may be the shape they have."""
    rows, U = _seen(counted)
    R = U.T @ squares @ U / np.sqrt(np.outer(rows, rows))
    k, n = len(rows), rows[0]
    if np.linalg.eigvalsh(R)[-1] <= (1 + (math.sqrt(k) + 1) / math.sqrt(n)) ** 2:
        return None
    return np.asarray(U @ ((1 + math.sqrt(k / n)) ** 2 * (R + R.T) / 2) @ U.T)


def _together(squares: FloatArray, counted: FloatArray, length: int) -> FloatArray | None:
    """The same along the axes of which fewer rows say something than the window is long, once it holds so many."""
    rows, U = np.linalg.eigh(counted)
    few = rows + 0.5 < length
    if few.all():
        return None
    further = further_together(squares, rows[few], U[:, few], length, UNLIKELY)
    return None if further is None else np.eye(len(rows)) + further
