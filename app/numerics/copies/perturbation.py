"""Perturbed copy from originals and noise: Y = X + B·Lᵀ on the release grid [li2012, eq. 1].

| here | li2012 | meaning |
| --- | --- | --- |
| X | X | originals, d columns of n; NaN where missing |
| B | | the path at the copy's variance, (r, n) |
| L | | factor of the noise's shape, (d, r) |
| e | | exponents of the grid's steps, d of them |

From the keystream to released numbers everything happens in tiles (`path.py`): nothing but the
released columns, and the path where somebody wants to keep it, is ever as long as the block. A number
is a function of its place alone (`definition.py`), whatever rows and columns stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.copies.noise.steps import Steps, steps
from app.numerics.copies.path import PathDraws, RowRange, path_tiles


def perturbed(
    X: Sequence[FloatArray] | FloatArray,
    B: FloatArray,
    L: FloatArray,
    exponents: Sequence[int],
) -> FloatArray:
    """Y = X + B·Lᵀ on the grid, of shape (d, n), from a path that is there."""
    release = _Release(X, L, exponents, np.empty((len(L), B.shape[1])))
    release.tile(0, np.ascontiguousarray(B), steps())
    return release.Y


def perturbed_block(
    X: Sequence[FloatArray] | FloatArray,
    draws: PathDraws,
    rows: RowRange,
    *,
    L: FloatArray,
    exponents: Sequence[int],
    known: Mapping[int, FloatArray] | None = None,
    keep: FloatArray | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Y for some rows of a block, of shape (d, last - first).

    `X` are d columns of last - first numbers; missing ones stay missing. `known` as in `path_tiles`.
    B is written to `keep` where that is given. Threads that make other rows run beside this one.

    Raises ValueError when shapes do not fit, or when a column would have no noise.
    """
    if L.shape[1] != draws.columns:
        raise ValueError("the factor has a column for each column of the path")
    Y = np.empty((len(L), rows.last - rows.first)) if out is None else out
    release = _Release(X, L, exponents, Y)
    using = steps()
    for start, B in path_tiles(draws, rows, known or {}, using):
        if keep is not None:
            keep[:, start : start + B.shape[1]] = B
        release.tile(start, B, using)
    return Y


class _Release:
    """Columns on their way out, checked once."""

    def __init__(
        self,
        X: Sequence[FloatArray] | FloatArray,
        L: FloatArray,
        exponents: Sequence[int],
        Y: FloatArray,
    ) -> None:
        if not len(X) == len(L) == len(exponents) == len(Y):
            raise ValueError("there are as many originals and exponents as rows of the factor")
        if any(len(column) != Y.shape[1] for column in X):
            raise ValueError("every original column has the rows that are asked for")
        if not (L != 0).any(axis=1).all():
            raise ValueError("every released column has noise")
        self.Y = Y
        self._columns = [
            (
                np.ascontiguousarray(row[: np.flatnonzero(row)[-1] + 1]),
                np.ascontiguousarray(original, dtype=np.float64),
                math.ldexp(1.0, exponent),
                out,
            )
            for row, original, exponent, out in zip(L, X, exponents, Y, strict=True)
        ]

    def tile(self, start: int, B: FloatArray, using: Steps) -> None:
        """Release the rows of one tile of the path."""
        stop = start + B.shape[1]
        for weights, original, step, out in self._columns:
            using.released_tile(B, weights, original[start:stop], step, out[start:stop])
