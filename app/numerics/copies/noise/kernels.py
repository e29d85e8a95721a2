"""Compiled kernels of `definition`: the same bits, several times as fast.

Importing this module compiles it, or loads what was compiled before, for the processor at hand;
`steps.py` decides when. Nothing here may be compiled with fast-math, which would fuse and reorder.
All arrays are contiguous, so that the loops over rows become vector instructions. What these
functions call is in this file and nowhere else: the compiled code kept on disk is known by it.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from app.numerics.copies.noise.normal_table import FIRST_SEGMENT, SEGMENT_SHIFT

FloatArray = NDArray[np.float64]
WordArray = NDArray[np.uint64]

PIECE = 1_024  # rows that go through all loops together: what they touch stays next to the core

_UNUSED_BITS = np.uint64(12)
_SIGN_PLACE = np.uint64(63)
_SEGMENT_SHIFT = np.uint64(SEGMENT_SHIFT)
_FIRST_SEGMENT = np.uint64(FIRST_SEGMENT)
_MIDDLE_BIT = np.uint64(1 << (SEGMENT_SHIFT - 1))
_WHOLE = 2.0**52
_WHOLE_BITS = np.uint64((1023 + 52) << 52)
_UNIT = 2.0**-54

_read_row = types.Array(types.float64, 1, "C", readonly=True)
_read_matrix = types.Array(types.float64, 2, "C", readonly=True)
_read_words = types.Array(types.uint64, 2, "C", readonly=True)
_row, _matrix, _number = types.float64[::1], types.float64[:, ::1], types.float64


@njit(nogil=True)
def _normals(words: WordArray, table: FloatArray, q: FloatArray, out: FloatArray) -> None:
    """The standard normals of some words; `q` is room for as many numbers.

    All but the lookup is made of vector instructions, which have no conversion from integers: the
    bits of 2⁵² + h, for h below 2⁵², are those of 2⁵² and h beside each other. A word's odd number is
    2h + 1, and h·2⁻⁵³ + 2⁻⁵⁴ is exact. So is the middle of a segment: q cut off there, and a half.
    """
    bits, signed = q.view(np.uint64), out.view(np.uint64)
    for i in range(len(words)):
        bits[i] = (words[i] >> _UNUSED_BITS) | _WHOLE_BITS
    for i in range(len(words)):
        q[i] = (q[i] - _WHOLE) * (2 * _UNIT) + _UNIT
    for i in range(len(words)):
        signed[i] = (bits[i] >> _SEGMENT_SHIFT << _SEGMENT_SHIFT) | _MIDDLE_BIT
    for i in range(len(words)):
        out[i] = q[i] - out[i]
    for i in range(len(words)):
        s = (bits[i] >> _SEGMENT_SHIFT) - _FIRST_SEGMENT
        t = out[i]
        x = table[s, 6] * t + table[s, 5]
        x = x * t + table[s, 4]
        x = x * t + table[s, 3]
        x = x * t + table[s, 2]
        out[i] = x * t + table[s, 1]
    for i in range(len(words)):  # a branch on a random bit would cost more than all the rest
        signed[i] ^= words[i] << _SIGN_PLACE


@njit(nogil=True)
def _scale(values: FloatArray, factor: float) -> None:
    for i in range(len(values)):
        values[i] = values[i] * factor


@njit(nogil=True)
def _add_one(end: FloatArray, weight: float, values: FloatArray) -> None:
    for i in range(len(values)):
        values[i] = end[i] * weight + values[i]


@njit(nogil=True)
def _add_both(
    lower: FloatArray, lower_weight: float, upper: FloatArray, upper_weight: float, out: FloatArray
) -> None:
    for i in range(len(out)):
        out[i] = (lower[i] * lower_weight + upper[i] * upper_weight) + out[i]


@njit(
    types.void(
        _read_words, _read_matrix, _number, _read_matrix, _number, _read_matrix, _number, _matrix
    ),
    nogil=True,
    cache=True,
)
def path_tile(
    words: WordArray,
    table: FloatArray,
    fresh_sd: float,
    lower: FloatArray,
    lower_weight: float,
    upper: FloatArray,
    upper_weight: float,
    out: FloatArray,
) -> None:
    """`definition.path_tile`; a neighbour that is not there has no rows."""
    room = np.empty(PIECE)
    r, n = words.shape
    for j in range(r):
        for start in range(0, n, PIECE):
            stop = min(start + PIECE, n)
            values = out[j, start:stop]
            _normals(words[j, start:stop], table, room[: stop - start], values)
            _scale(values, fresh_sd)
            if len(lower) > 0 and len(upper) > 0:
                _add_both(
                    lower[j, start:stop], lower_weight, upper[j, start:stop], upper_weight, values
                )
            elif len(lower) > 0:
                _add_one(lower[j, start:stop], lower_weight, values)
            elif len(upper) > 0:
                _add_one(upper[j, start:stop], upper_weight, values)


@njit(nogil=True)
def _first_term(column: FloatArray, weight: float, total: FloatArray) -> None:
    for i in range(len(total)):
        total[i] = weight * column[i]


@njit(nogil=True)
def _term(column: FloatArray, weight: float, total: FloatArray) -> None:
    for i in range(len(total)):
        total[i] = total[i] + weight * column[i]


@njit(nogil=True)
def _released(
    noise: FloatArray, original: FloatArray, inverse: float, step: float, out: FloatArray
) -> None:
    for i in range(len(out)):
        out[i] = np.rint((noise[i] + original[i]) * inverse) * step


@njit(
    types.void(_read_matrix, _read_row, _read_row, _number, _row),
    nogil=True,
    cache=True,
)
def released_tile(
    path: FloatArray, weights: FloatArray, original: FloatArray, step: float, out: FloatArray
) -> None:
    """`definition.released_tile`."""
    inverse = 1.0 / step
    room = np.empty(PIECE)
    for start in range(0, len(out), PIECE):
        stop = min(start + PIECE, len(out))
        noise = room[: stop - start]
        _first_term(path[0, start:stop], weights[0], noise)
        for j in range(1, len(weights)):
            _term(path[j, start:stop], weights[j], noise)
        _released(noise, original[start:stop], inverse, step, out[start:stop])
