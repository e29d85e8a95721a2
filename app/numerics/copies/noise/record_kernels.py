"""Compiled kernels of `records`: the same as the definition, without an array per step.

Places are counted in unsigned words: numba looks whether a signed one is below 0, and then writes
eight bytes one by one instead of together. What these functions call is in this file, as in
`kernels.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from app.numerics.copies.noise.definition import EPOCH

Codes = NDArray[np.int32]
Places = NDArray[np.intp]
Numbers = NDArray[np.float64]
Words = NDArray[np.uint64]
Offsets = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_NONE, _ONE, _EIGHT = np.uint64(0), np.uint64(1), np.uint64(8)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_WORD_SHIFT = np.uint64(3)
_UNIT = 2.0**-32
RUN = 64

_read_codes = types.Array(types.int32, 1, "C", readonly=True)
_read_code_matrix = types.Array(types.int32, 2, "C", readonly=True)
_read_words = types.Array(types.uint64, 1, "C", readonly=True)
_read_word_matrix = types.Array(types.uint64, 2, "C", readonly=True)
_read_offsets = types.Array(types.int64, 1, "C", readonly=True)
_codes, _offsets = types.int32[::1], types.int64[::1]


@njit(
    types.int64(
        _read_word_matrix,
        types.int64,
        types.float64,
        types.float64,
        types.int64,
        types.intp[::1],
        types.float64[::1],
        _offsets,
        types.int32[:, ::1],
    ),
    nogil=True,
    cache=True,
)
def earlier_events(
    words: Words,
    epoch: int,
    latest: float,
    first: float,
    donors: int,
    rows: Places,
    products: Numbers,
    columns: Offsets,
    places: Codes,
) -> int:
    """`definition.earlier_events`.

    Without a branch on a coin that falls for each row: it is guessed wrong every other time, and costs more
    than all the rest. What is not to be written goes to the unused place of a row.
    """
    found = _NONE
    marks, count, unused = np.uint64(places.shape[1] + 2), np.uint64(donors), places.shape[1] - 1
    for i in range(len(rows)):
        row = np.uint64(rows[i])
        column, product, going, left = columns[row], products[row], True, False
        bound = latest if column // EPOCH == epoch else 1.0
        for event in range(2):
            word = words[i, event]
            drawn = np.float64(np.int64(word >> _HALF))
            product = product * ((drawn + 0.5) * _UNIT)
            left = left | (going & (product < first))
            x = (word & _LOW) * marks
            mark = np.int64(x >> _HALF)
            slot = mark - 3 if mark > 3 else 0
            slot = slot if going & (not left) & (product <= bound) else unused
            donor = np.int32(((x & _LOW) * count) >> _HALF)
            before = places[row, np.uint64(slot)]
            places[row, np.uint64(slot)] = before if before >= 0 else donor
            going = going & (slot != 0)
        column = (column // EPOCH - 1) * EPOCH if left else column + 1
        columns[row], products[row] = column, 1.0 if left else product
        rows[found] = np.int64(row)
        found += np.uint64(going & (column >= EPOCH))
    return int(np.int64(found))


@njit(
    types.void(
        _read_code_matrix,
        types.Array(types.intp, 1, "C", readonly=True),
        _read_code_matrix,
        types.int32[:, :],
    ),
    nogil=True,
    cache=True,
)
def show_cells(places: Codes, chosen: Places, pool: Codes, codes: Codes) -> None:
    """`definition.show_cells`, in runs of rows whose places and donors stay next to the core."""
    k, n = codes.shape
    for start in range(0, n, RUN):
        for j in range(k):
            column = np.uint64(chosen[j])
            for i in range(np.uint64(start), np.uint64(min(start + RUN, n))):
                place = places[i, column + _ONE]
                place = place if place >= 0 else places[i, _NONE]
                value = pool[np.uint64(place if place >= 0 else 0), column]
                codes[j, i] = value if place >= 0 else codes[j, i]


@njit(types.void(_read_codes, _read_codes, _codes), nogil=True, cache=True)
def looked_up(places: Codes, codes: Codes, out: Codes) -> None:
    """`definition.looked_up`."""
    for i in range(len(codes)):
        out[i] = places[np.uint64(codes[i])]


@njit(types.void(_read_codes, _read_words, _offsets), nogil=True, cache=True)
def text_offsets(codes: Codes, lengths: Words, offsets: Offsets) -> None:
    """`definition.text_offsets`."""
    end = _NONE
    offsets[0] = 0
    for i in range(len(codes)):
        end += lengths[np.uint64(codes[i])]
        offsets[i + 1] = np.int64(end)


@njit(nogil=True)
def _write_word(word: np.uint64, out: Bytes, at: np.uint64) -> None:
    """Eight bytes, the lowest first, on whatever machine; the compiler makes one store of them."""
    out[at] = np.uint8(word & np.uint64(255))
    out[at + _ONE] = np.uint8((word >> np.uint64(8)) & np.uint64(255))
    out[at + np.uint64(2)] = np.uint8((word >> np.uint64(16)) & np.uint64(255))
    out[at + np.uint64(3)] = np.uint8((word >> np.uint64(24)) & np.uint64(255))
    out[at + np.uint64(4)] = np.uint8((word >> np.uint64(32)) & np.uint64(255))
    out[at + np.uint64(5)] = np.uint8((word >> np.uint64(40)) & np.uint64(255))
    out[at + np.uint64(6)] = np.uint8((word >> np.uint64(48)) & np.uint64(255))
    out[at + np.uint64(7)] = np.uint8(word >> np.uint64(56))


@njit(
    types.void(_read_codes, _read_words, _read_word_matrix, _read_offsets, types.uint8[::1]),
    nogil=True,
    cache=True,
)
def text_bytes(codes: Codes, lengths: Words, letters: Words, offsets: Offsets, out: Bytes) -> None:
    """`definition.text_bytes`; what a text's last word has too much, the next text covers."""
    for i in range(len(codes)):
        code = np.uint64(codes[i])
        at = np.uint64(offsets[i])
        j = _NONE
        while j < lengths[code]:
            _write_word(letters[code, j >> _WORD_SHIFT], out, at + j)
            j += _EIGHT
