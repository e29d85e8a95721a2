"""Definition of a released number to the bit: recipe `aes256ctr-segments-v2` in plain numpy.

Beside it stand what a released record is (`records.py` has the recipe) and how its texts are laid out.

For a word of the keystream (app/numerics/copies/noise/keystream.py)

    sign     = bit 0: 0 is positive, 1 is negative
    q        = ((word >> 11) | 1)·2⁻⁵⁴, exact, strictly between 0 and ½
    t        = q - the middle of its segment (app/numerics/copies/noise/normal_table.py), exact
    |normal| = ((((c_5·t + c_4)·t + c_3)·t + c_2)·t + c_1)·t + c_0

and from there on

    B        = (lower_weight·B(lower) + upper_weight·B(upper)) + fresh_sd·normal, terms without a
               neighbour left out [li2012, eqs. 17 and 18]
    noise_i  = (L_i0·B_0 + L_i1·B_1) + L_i2·B_2 + …, up to the last weight that is not 0
    released = rint((noise_i + original)·2^-e_i)·2^e_i, halves to even [li2012, eq. 1]

Every product, sum and difference is of two doubles and rounded on its own. There is no fused
operation, no library function and no order left open, so that every processor gives the same bits
for ever; `kernels.py` does the same faster. A change to any line above is another recipe.

Near ½ a normal is as small as the table's error, and |normal| may come out below 0: a word's sign
then is the other one, which changes nothing that could be seen.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from app.numerics.copies.noise.keystream import WordArray
from app.numerics.copies.noise.normal_table import FIRST_SEGMENT, SEGMENT_SHIFT, read_table

FloatArray = NDArray[np.float64]
Codes = NDArray[np.int32]
Places = NDArray[np.intp]
Offsets = NDArray[np.int64]
Bytes = NDArray[np.uint8]

RECIPE = "aes256ctr-segments-v2"
NO_EVENT = -1
"""A donor's place where there is none."""

EPOCH = 2**16
"""Columns of the keystream for the events of an epoch."""


@cache
def table() -> FloatArray:
    """The rows of `normal_table`, read once."""
    return read_table()


def tails_from_words(words: WordArray) -> FloatArray:
    """q of every word: an odd multiple of 2⁻⁵⁴ below ½."""
    odd = (words >> np.uint64(11)) | np.uint64(1)
    q: FloatArray = odd.astype(np.float64) * 2.0**-54
    return q


def normals_from_words(words: WordArray) -> FloatArray:
    """The standard normals that the words stand for, of the words' shape."""
    q = tails_from_words(words)
    segment = (q.view(np.uint64) >> np.uint64(SEGMENT_SHIFT)) - np.uint64(FIRST_SEGMENT)
    middle, c0, c1, c2, c3, c4, c5, _ = np.moveaxis(table()[segment], -1, 0)
    t = q - middle
    x: FloatArray = ((((c5 * t + c4) * t + c3) * t + c2) * t + c1) * t + c0
    return np.where(words & np.uint64(1), -x, x)


def path_tile(
    words: WordArray,
    fresh_sd: float,
    lower: FloatArray | None,
    lower_weight: float,
    upper: FloatArray | None,
    upper_weight: float,
    out: FloatArray,
) -> None:
    """B from words and from B at the neighbours, where there are such; all of one shape."""
    fresh = normals_from_words(words) * fresh_sd
    if lower is not None and upper is not None:
        out[...] = (lower * lower_weight + upper * upper_weight) + fresh
    elif lower is not None:
        out[...] = lower * lower_weight + fresh
    elif upper is not None:
        out[...] = upper * upper_weight + fresh
    else:
        out[...] = fresh


def released_tile(
    path: FloatArray, weights: FloatArray, original: FloatArray, step: float, out: FloatArray
) -> None:
    """One released column from the path (r, n), the column's weights (≤ r) and its originals (n).

    `step` is a power of two, whose inverse is exact. A missing original (NaN) stays missing.
    """
    noise = weights[0] * path[0]
    for weight, column in zip(weights[1:], path[1:], strict=False):
        noise = noise + weight * column
    out[...] = np.rint((noise + original) * (1.0 / step)) * step


def earlier_events(
    words: WordArray,
    epoch: int,
    latest: float,
    first: float,
    donors: int,
    rows: Places,
    products: FloatArray,
    columns: Offsets,
    places: Codes,
) -> int:
    """Go back by two events of some rows, whose words are (m, 2); how many go on, those first in `rows`.

    `products` (n,) of all rows are multiplied by U; one below `first` enters the epoch before, and the next pair of
    words is the first of that. `columns` (n,) are those of the keystream that the words were of, and then of the next ones.
    In the copy's own `epoch` what is above `latest` is later than the copy. Donors of the events are written to
    `places` (n, 2 + c), if no later event did: a record's in front, a column's behind it. A row is done where its record
    was replaced or no epoch is left.
    """
    marks = np.uint64(places.shape[1] + 2)
    going = np.ones(len(rows), dtype=np.bool_)
    left = np.zeros(len(rows), dtype=np.bool_)
    bound = np.where(columns[rows] // EPOCH == epoch, latest, 1.0)
    for event in range(2):
        word = words[:, event]
        U = ((word >> np.uint64(32)).astype(np.float64) + 0.5) * 2.0**-32
        product = products[rows] * U
        products[rows] = product
        left |= going & (product < first)
        x = (word & np.uint64(2**32 - 1)) * marks
        slot = np.maximum((x >> np.uint64(32)).astype(np.intp) - 3, 0)
        donor = (((x & np.uint64(2**32 - 1)) * np.uint64(donors)) >> np.uint64(32)).astype(np.int32)
        shown = np.flatnonzero(going & ~left & (product <= bound))
        shown = shown[places[rows[shown], slot[shown]] == NO_EVENT]
        places[rows[shown], slot[shown]] = donor[shown]
        going &= places[rows, 0] == NO_EVENT
    columns[rows] = np.where(left, (columns[rows] // EPOCH - 1) * EPOCH, columns[rows] + 1)
    products[rows[left]] = 1.0
    going &= columns[rows] >= EPOCH
    goes_on = rows[going]
    rows[: len(goes_on)] = goes_on
    return len(goes_on)


def show_cells(places: Codes, chosen: Places, pool: Codes, codes: Codes) -> None:
    """Replace in place the cells (k, n) of chosen columns in which an event occurred, by the latest one's donor.

    `places` are as in `earlier_events`; `pool` (m, c) are the donors.
    """
    for own, j in zip(codes, chosen.tolist(), strict=True):
        place = np.where(places[:, 1 + j] == NO_EVENT, places[:, 0], places[:, 1 + j])
        own[...] = np.where(place == NO_EVENT, own, pool[place, j])


def looked_up(places: Codes, codes: Codes, out: Codes) -> None:
    """Entries of `places` at the codes."""
    out[...] = places[codes]


def text_offsets(codes: Codes, lengths: WordArray, offsets: Offsets) -> None:
    """Offsets at which texts begin, and the end of the last one; `lengths` are in bytes."""
    offsets[0] = 0
    np.cumsum(lengths[codes], out=offsets[1:])


def text_bytes(
    codes: Codes, lengths: WordArray, letters: WordArray, offsets: Offsets, out: Bytes
) -> None:
    """The texts of the codes one after the other.

    `letters` (k, w) are the bytes of each text in words, the first byte the lowest. There are eight
    bytes more in `out` than the texts have, of which nothing is said.
    """
    written = letters.astype("<u8").view(np.uint8)[codes]
    there = np.arange(written.shape[1]) < lengths[codes][:, None].astype(np.int64)
    out[: offsets[-1]] = written[there]
