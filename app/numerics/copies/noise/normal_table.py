"""Inverse of the normal survival function as a table of polynomials.

A segment is the set of all doubles q that share their exponent and the top five bits of their
mantissa: 32 of them between two powers of two, from 2⁻⁵⁴ up to ½. On each, x(q) with Q(x) = q is

    x ≈ c_0 + c_1·t + … + c_5·t⁵,    t = q - the segment's middle,

off by less than 5·10⁻¹⁴. The table is kept as it was made once, with 50 digits, by
bench/normal_table.py: another table is another recipe.

| here | meaning |
| --- | --- |
| segment | bits of q from the 47th on, less those of 2⁻⁵⁴; 0 … 1,695 |
| row | the segment's middle, c_0, …, c_5 and an unused 0: one line of a processor's cache |
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

FILE = "normal_table.f8"
SHA256 = "e160c8348c451aa44ef2bab9cec7730a709a5a0b4449542f41810b85d667219e"

DEGREE = 5
SEGMENT_SHIFT = 47
"""Bits of a double below those that name its segment: 52 of the mantissa less five."""
FIRST_SEGMENT = (1023 - 54) << 5
"""The bits of 2⁻⁵⁴ from the 47th on."""
SEGMENTS = 53 * 32


class TableAltered(Exception):
    """The committed table is not the one that the recipe names: no noise may be made of it."""


def segment_bounds(segment: int) -> tuple[float, float]:
    """The first double of a segment and the first one after it."""
    bits = np.array([segment, segment + 1], dtype=np.uint64) + np.uint64(FIRST_SEGMENT)
    low, high = (bits << np.uint64(SEGMENT_SHIFT)).view(np.float64).tolist()
    return low, high


def read_table() -> NDArray[np.float64]:
    """The rows of all segments, of shape (1,696, 8), not to be written to.

    Raises TableAltered when the file's hash is not the recipe's.
    """
    content = files(__package__).joinpath(FILE).read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise TableAltered(f"{FILE} is not the table of the recipe; install the package again.")
    rows = np.zeros((SEGMENTS, 8))
    rows[:, 1 : DEGREE + 2] = np.frombuffer(content, dtype="<f8").reshape(SEGMENTS, DEGREE + 1)
    rows[:, 0] = [sum(segment_bounds(segment)) / 2 for segment in range(SEGMENTS)]
    rows.setflags(write=False)
    return rows
