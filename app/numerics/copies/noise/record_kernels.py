"""Records of a copy, compiled: the same as by `definition`, without an array per step.

Places are counted in unsigned words: numba looks whether a signed one is below 0, and then writes
eight bytes one by one instead of together. What these functions call is in this file, as in
`kernels.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Words = NDArray[np.uint64]
Offsets = NDArray[np.int64]
Bytes = NDArray[np.uint8]

PIECE = 4_096  # rows that go through all loops together: what they touch stays next to the core

_NONE, _ONE, _EIGHT = np.uint64(0), np.uint64(1), np.uint64(8)
_UNUSED_BITS, _DONOR_BITS, _DONOR_SHIFT = np.uint64(11), np.uint64(16), np.uint64(48)
_WORD_SHIFT = np.uint64(3)
_UNIT = 2.0**-53

_read_codes = types.Array(types.int32, 1, "C", readonly=True)
_read_code_matrix = types.Array(types.int32, 2, "C", readonly=True)
_read_words = types.Array(types.uint64, 1, "C", readonly=True)
_read_word_matrix = types.Array(types.uint64, 2, "C", readonly=True)
_read_offsets = types.Array(types.int64, 1, "C", readonly=True)
_codes, _code_matrix, _offsets = types.int32[::1], types.int32[:, ::1], types.int64[::1]


@njit(
    types.void(_read_words, _read_words, types.float64, _read_code_matrix, _code_matrix),
    nogil=True,
    cache=True,
)
def replace_records(
    kept_words: Words, donor_words: Words, share: float, pool: Codes, codes: Codes
) -> None:
    """`definition.replace_records`.

    First who goes, without a branch, then their donors alone: a branch on a coin that falls for each
    row is guessed wrong every other time, and costs more than all the rest.
    """
    c, n = codes.shape
    donors = np.uint64(len(pool))
    goes, rows = np.empty(PIECE, dtype=np.int32), np.empty(PIECE, dtype=np.uint64)
    for start in range(0, n, PIECE):
        stop = min(start + PIECE, n)
        words = kept_words[start:stop]
        for i in range(len(words)):
            goes[i] = not np.float64(np.int64(words[i] >> _UNUSED_BITS)) * _UNIT < share
        for j in range(c):
            column = codes[j, start:stop]
            for i in range(len(column)):
                goes[i] |= column[i] < 0
        found = 0
        for i in range(len(words)):
            rows[found] = start + i
            found += goes[i]
        for row in rows[:found]:
            donor = ((donor_words[row] >> _DONOR_BITS) * donors) >> _DONOR_SHIFT
            for j in range(c):
                codes[j, row] = pool[donor, j]


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
