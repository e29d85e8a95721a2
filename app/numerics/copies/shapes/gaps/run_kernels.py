"""Compiled moments of runs of rows with the same missing cells, outside the GIL.

Importing this module compiles it, or loads what was compiled before; `runs.py` decides when. Sums may be
added up in another order (`reassoc`), so that they become vector instructions: what is made of moments is frozen,
and never made again. Rows go through all loops a piece at a time, and pieces are merged by the pairwise
update of [chan1983]. What these functions call is in this file and nowhere else.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from app.numerics.arrays import FloatArray, IntArray

PIECE = 512  # rows that go through all loops together: what they touch stays next to the core

_read_matrix = types.Array(types.float64, 2, "C", readonly=True)
_read_places = types.Array(types.int64, 1, "C", readonly=True)


@njit(nogil=True, fastmath={"reassoc"}, error_model="numpy")
def _centred(column: FloatArray, places: IntArray, origin: float, out: FloatArray) -> float:
    """The cells at these places, less their mean, which is returned, from the origin on; what it lost to rounding is taken away too."""
    n = len(places)
    mean = 0.0
    for i in range(n):
        out[i] = column[np.uint64(places[i])] - origin
        mean += out[i]
    mean /= n
    rest = 0.0
    for i in range(n):
        out[i] -= mean
        rest += out[i]
    rest /= n
    for i in range(n):
        out[i] -= rest
    return mean + rest


@njit(nogil=True, fastmath={"reassoc"}, error_model="numpy")
def _product(one: FloatArray, other: FloatArray) -> float:
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


@njit(
    types.void(
        _read_matrix,
        _read_places,
        _read_places,
        _read_places,
        types.float64[:, ::1],
        types.float64[:, :, ::1],
    ),
    nogil=True,
    cache=True,
    fastmath={"reassoc"},
    error_model="numpy",
)
def add_run_moments(
    values: FloatArray,
    order: IntArray,
    firsts: IntArray,
    lasts: IntArray,
    means: FloatArray,
    comoments: FloatArray,
) -> None:
    """`runs.run_moments`, into means (r, d) and comoments (r, d, d) that are 0 before."""
    d = len(values)
    own = np.empty((d, PIECE))
    columns = np.empty(d, dtype=np.int64)
    origin, shift = np.empty(d), np.empty(d)
    for run in range(len(firsts)):
        k = 0
        for j in range(d):
            x = values[j, order[firsts[run]]]
            if not np.isnan(x):
                # Means of pieces differ by little, which far from 0 would be lost to rounding.
                columns[k], origin[k] = j, x
                k += 1
        seen = 0.0
        for start in range(firsts[run], lasts[run], PIECE):
            places = order[start : min(start + PIECE, lasts[run])]
            n = len(places)
            for a in range(k):
                mean = _centred(values[columns[a]], places, origin[a], own[a])
                shift[a] = mean - means[run, columns[a]]
            weight = seen * n / (seen + n)
            for a in range(k):
                for b in range(a + 1):
                    product = _product(own[a][:n], own[b][:n]) + weight * shift[a] * shift[b]
                    comoments[run, columns[a], columns[b]] += product
            seen += n
            for a in range(k):
                means[run, columns[a]] += shift[a] * (n / seen)
        for a in range(k):
            means[run, columns[a]] += origin[a]
            for b in range(a):
                comoments[run, columns[b], columns[a]] = comoments[run, columns[a], columns[b]]
