"""Table of powers of ten for the shortest decimal of a double [giulietti2020].

    k = ⌊log₁₀ 2^q⌋, or ⌊log₁₀ ¾·2^q⌋ above a power of two
    g = ⌊10⁻ᵏ·2ʳ⌋ + 1, with r such that it has 128 bits; an exact power is not raised
    h = q + 128 - r, so that 2^q·10⁻ᵏ = g·2ʰ / 2¹²⁸, but for the rounding of g

Made of whole numbers without limit, so that nothing is rounded but as the formula says.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

EXPONENTS = 2_048
"""What a double can have in its eleven bits for the exponent."""

BIAS = 1_075
"""A double with the exponent e is c·2^(e - BIAS), c a whole number below 2⁵³."""

ROW_WORDS = 8

_BITS = 128
_WORD = 2**64


class PowerOfTen(NamedTuple):
    """Multiplier for doubles of one exponent."""

    k: int
    g: int
    h: int


@cache
def powers() -> Words:
    """Eight words for each exponent, then for each power of two: those of g, ½·2^q, h, k, and none.

    The half is in quarters of 10^k, cut off behind 58 bits of their fraction; k in two's complement.
    """
    scales = [scale(e - BIAS, near=near) for near in (False, True) for e in range(EXPONENTS)]
    table = np.zeros((len(scales), ROW_WORDS), dtype=np.uint64)
    table[:, :5] = [
        (g // _WORD, g % _WORD, g >> (_BITS - 59 - h), h, k % _WORD) for k, g, h in scales
    ]
    return table.ravel()


def scale(q: int, *, near: bool) -> PowerOfTen:
    """k, g and h of c·2^q; `near` is a power of two, where the interval below is half as long."""
    numerator, denominator = _power(2, q)
    k = _logarithm(3 * numerator, 4 * denominator) if near else _logarithm(numerator, denominator)
    g, r = _normalised(-k)
    return PowerOfTen(k, g, q + _BITS - r)


def _power(base: int, exponent: int) -> tuple[int, int]:
    return (base**exponent, 1) if exponent >= 0 else (1, base**-exponent)


def _logarithm(numerator: int, denominator: int) -> int:
    """⌊log₁₀⌋ of a fraction."""
    guess = int((numerator.bit_length() - denominator.bit_length()) * 0.30103) - 1
    above, below = _power(10, guess + 1)
    while above * denominator <= numerator * below:
        guess, above = guess + 1, above * 10
    return guess


@cache
def _normalised(exponent: int) -> tuple[int, int]:
    """10^exponent·2ʳ with 128 bits, one more where that is no whole number, and r."""
    above, below = _power(10, exponent)
    r = _BITS - above.bit_length() + below.bit_length()
    if (above << max(0, r)) // (below << max(0, -r)) >> _BITS:
        r -= 1
    g, rest = divmod(above << max(0, r), below << max(0, -r))
    return g + (rest > 0), r
