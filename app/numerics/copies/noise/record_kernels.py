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
Places = NDArray[np.intp]
Numbers = NDArray[np.float64]
Words = NDArray[np.uint64]
Offsets = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_NONE, _ONE, _EIGHT = np.uint64(0), np.uint64(1), np.uint64(8)
_UNIFORM_SHIFT, _DONOR_MASK = np.uint64(24), np.uint64(2**24 - 1)
_WORD_SHIFT = np.uint64(3)
_UNIT = 2.0**-40

_read_codes = types.Array(types.int32, 1, "C", readonly=True)
_read_numbers = types.Array(types.float64, 1, "C", readonly=True)
_read_words = types.Array(types.uint64, 1, "C", readonly=True)
_read_word_matrix = types.Array(types.uint64, 2, "C", readonly=True)
_read_offsets = types.Array(types.int64, 1, "C", readonly=True)
_codes, _offsets = types.int32[::1], types.int64[::1]


@njit(
    types.int64(
        _read_word_matrix,
        types.float64,
        types.boolean,
        types.int64,
        types.intp[::1],
        types.float64[::1],
        _codes,
    ),
    nogil=True,
    cache=True,
)
def next_events(
    words: Words,
    share: float,
    fourth: bool,
    donors: int,
    rows: Places,
    products: Numbers,
    places: Codes,
) -> int:
    """`definition.next_events`.

    Without a branch on a coin that falls for each row: it is guessed wrong every other time, and costs more
    than all the rest.
    """
    found = _NONE
    count = np.uint64(donors)
    for i in range(len(rows)):
        row = np.uint64(rows[i])
        product, place, occurred = products[row], places[row], True
        for event in range(words.shape[1]):
            word = words[i, event]
            drawn = np.float64(np.int64(word >> _UNIFORM_SHIFT))
            further = product * ((drawn + 0.5) * _UNIT)
            time = (further * further) * (further * further) if fourth else further
            occurred = occurred & (time >= share)
            product = further if occurred else product
            donor = np.int32(((word & _DONOR_MASK) * count) >> _UNIFORM_SHIFT)
            place = donor if occurred else place
        products[row], places[row] = product, place
        rows[found] = np.int64(row)
        found += np.uint64(occurred)
    return int(np.int64(found))


@njit(
    types.void(_read_numbers, _read_codes, _read_numbers, _read_codes, _read_codes, _codes),
    nogil=True,
    cache=True,
)
def show_cells(
    record_products: Numbers,
    record_places: Codes,
    products: Numbers,
    places: Codes,
    values: Codes,
    codes: Codes,
) -> None:
    """`definition.show_cells`."""
    for i in range(len(codes)):
        time = (products[i] * products[i]) * (products[i] * products[i])
        own_later = time < record_products[i]
        place = np.uint64(places[i] if own_later else record_places[i])
        value = values[place]
        codes[i] = value if own_later or record_products[i] < 1.0 else codes[i]


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
