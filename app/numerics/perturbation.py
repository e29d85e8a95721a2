"""A perturbed copy from originals and path: Y = X + B·Lᵀ on the release grid [li2012, eq. 1].

| here | li2012 | meaning |
| --- | --- | --- |
| X | X | originals, (d, n) or d columns of n: a column is contiguous; NaN where missing |
| B | | the path at the copy's variance, (r, n) |
| L | | factor of K_X, (d, r) |
| e | | exponents of the grid's steps, d of them |

Products and sums go element by element in a fixed order and not through BLAS, whose order depends
on shapes, threads and processor: a row comes out the same whatever rows stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from app.numerics.brownian import path_block
from app.numerics.grid import round_to_grid
from app.numerics.multilevel import Bridge
from app.numerics.noise import row_blocks

FloatArray = NDArray[np.float64]

_PIECE = 32_768  # rows per pass: with fewer, calling numpy costs more than the cache saves


def perturbed(
    X: Sequence[FloatArray] | FloatArray,
    B: FloatArray,
    L: FloatArray,
    exponents: Sequence[int],
    out: FloatArray | None = None,
) -> FloatArray:
    """Y = X + B·Lᵀ rounded to the grid, of shape (d, n).

    Column i sums L_ij·B_j in the order of j, then adds the original. Missing originals stay
    missing. All columns take a step together: a thread that calls numpy less often waits less for
    the others.
    """
    d, n = L.shape[0], B.shape[1]
    Y = np.empty((d, n)) if out is None else out
    weights = L[:, :, np.newaxis]
    # L is a staircase: above its first nonzero a column adds nothing.
    tops = [int(np.flatnonzero(column)[0]) if column.any() else d for column in L.T]
    products = np.empty((d, min(n, _PIECE)))
    for start in range(0, n, _PIECE):
        rows = slice(start, min(start + _PIECE, n))
        total, term = Y[:, rows], products[:, : rows.stop - start]
        np.multiply(weights[:, 0], B[0, rows], out=total)
        for j in range(1, L.shape[1]):
            below = slice(tops[j], d)
            np.multiply(weights[below, j], B[j, rows], out=term[below])
            np.add(total[below], term[below], out=total[below])
        for column, original in zip(total, X, strict=True):
            np.add(column, original[rows], out=column)
        round_to_grid(total, exponents)
    return Y


def perturbed_copy(
    X: FloatArray,
    history: Sequence[Bridge],
    keys: Mapping[int, bytes],
    target: int,
    *,
    L: FloatArray,
    exponents: Sequence[int],
    threads: int = 1,
    out: FloatArray | None = None,
) -> FloatArray:
    """The whole copy at the target's variance of originals (d, n) that begin at row 0.

    Blocks of rows are independent of each other; the cipher and the array operations let go of the
    interpreter, so threads share them.
    """
    d, n = X.shape
    Y = np.empty((d, n)) if out is None else out

    def work(rows: tuple[int, int]) -> None:
        start, stop = rows
        B = path_block(history, keys, target, start=start, stop=stop, columns=L.shape[1])
        perturbed(X[:, start:stop], B, L, exponents, out=Y[:, start:stop])

    with ThreadPoolExecutor(max_workers=threads) as pool:
        list(pool.map(work, row_blocks(0, n)))
    return Y
