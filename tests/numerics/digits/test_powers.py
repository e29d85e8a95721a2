"""Powers of ten against fractions, which round nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from app.numerics.digits.powers import BIAS, EXPONENTS, ROW_WORDS, powers, scale

BOTH = pytest.mark.parametrize("near", [False, True], ids=["between", "power of two"])


def power(base: int, exponent: int) -> Fraction:
    return Fraction(base) ** exponent


@BOTH
def test_ten_to_the_k_is_the_largest_power_within_the_interval(near: bool) -> None:
    for e in range(EXPONENTS):
        q = e - BIAS
        length = power(2, q) * (Fraction(3, 4) if near else 1)
        k = scale(q, near=near).k
        assert power(10, k) <= length < power(10, k + 1)


@BOTH
def test_g_has_128_bits_and_is_above_its_power_by_less_than_one(near: bool) -> None:
    for e in range(EXPONENTS):
        k, g, h = scale(e - BIAS, near=near)
        assert g.bit_length() == 128
        exact = power(10, -k) * power(2, e - BIAS + 128 - h)
        assert 0 <= g - exact <= 1
        assert (g == exact) == (exact.denominator == 1)


@BOTH
def test_rows_are_the_words_of_that(near: bool) -> None:
    table = powers().reshape(2, EXPONENTS, ROW_WORDS)[int(near)]
    for e in range(EXPONENTS):
        k, g, h = scale(e - BIAS, near=near)
        high, low, half, shift, exponent = (int(word) for word in table[e, :5])
        assert (high << 64) + low == g
        assert shift == h
        assert 1 <= h <= 4
        assert int(np.uint64(exponent).view(np.int64)) == k
        assert half == int(Fraction(g * 2 ** (h + 1), 2**128) * 2**58)
