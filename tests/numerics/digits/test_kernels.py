"""Digits of doubles against those of Python, which has its own shortest ones."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.digits.kernels import (
    DOUBLE,
    NUMBER_BYTES,
    OTHERS,
    SLACK_BYTES,
    WHOLE,
    lines,
)
from app.numerics.digits.powers import powers, scale

Doubles = NDArray[np.float64]


def written(doubles: Doubles, whole: NDArray[np.int64] | None = None) -> bytes | None:
    """Lines of one column of doubles and, where given, one of whole numbers."""
    n = len(doubles)
    wholes = np.empty((0, n), np.int64) if whole is None else whole.reshape(1, n)
    out = np.full(n * 2 * (NUMBER_BYTES + 1) + SLACK_BYTES, ord("?"), np.uint8)
    count = lines(
        np.array([DOUBLE, WHOLE][: 1 + len(wholes)]),
        doubles.reshape(1, n).view(np.uint64),
        wholes.view(np.uint64),
        0,
        np.empty((0, n + 1), np.int64),
        np.empty((0, n), np.bool_),
        np.zeros(SLACK_BYTES, np.uint8),
        powers(),
        out,
    )
    return None if count == OTHERS else out[:count].tobytes()


def random_bits(seed: int, least: float, most: float) -> Doubles:
    """Doubles of all exponents in a range, every bit pattern there as likely as another."""
    low, high = np.array([least, most]).view(np.uint64)
    bits = np.random.default_rng(seed).integers(low, high, 30_000, dtype=np.uint64)
    return bits.view(np.float64)


def borders() -> Doubles:
    """All powers of two in the range, and their neighbours."""
    two = np.ldexp(1.0, np.arange(-290, 53))
    return np.concatenate([np.nextafter(two, 0), two, np.nextafter(two, np.inf)])


def shares() -> Doubles:
    return np.array(
        [i / 10**e for e in range(23) for i in (*range(1, 1_000, 7), 99_999, 10**7 + 1)]
    )


def whole_numbers() -> Doubles:
    edges = [2**53 + i for i in range(-40, 1)] + [10**15 + i for i in range(-9, 10)]
    edges += [10**16 - 2 * i for i in range(1, 40)]
    return np.concatenate([np.array(edges, float), np.arange(5_000.0), np.arange(5_000.0) + 0.5])


def first_within(a: int, m: int, low: int, high: int) -> int | None:
    """The least x ≥ 0 with low ≤ a·x mod m ≤ high, for 0 ≤ low ≤ high < m, by Euclid's steps."""
    if low == 0:
        return 0
    a %= m
    if a == 0:
        return None
    if -(-low // a) * a <= high:
        return -(-low // a)
    y = first_within(m % a, a, -high % a, -low % a)  # no multiple of a is between low and high
    return None if y is None else -(-(low + m * y) // a)


def has_an_end_close_to_a_tenth(q: int, units: int) -> bool:
    """Whether (c + ½)·2^q is so near to a multiple of 10^(k+1), c any number from 2⁵² below 2⁵³.

    `units` are of 2⁻⁵⁸ quarters of 10^k. With 2^q / 10^(k+1) = a / b and c = 2⁵² + x, the question is
    whether (2⁵³ + 1)·a + 2·a·x is near to a multiple of 2·b.
    """
    ratio = Fraction(2) ** q / Fraction(10) ** (scale(q, near=False).k + 1)
    a, m = ratio.numerator, 2 * ratio.denominator
    width = m * units // (40 << 58)
    low = -(2**53 + 1) * a % m - width
    parts = [(max(low, 0), min(low + 2 * width, m - 1))]
    if low < 0:
        parts.append((low + m, m - 1))
    if low + 2 * width >= m:
        parts.append((0, low + 2 * width - m))
    found = [first_within(2 * a, m, *part) for part in parts]
    return any(x is not None and x < 2**52 for x in found)


CASES = {
    "bits of plain numbers": random_bits(1, 1e-5, 9e15),
    "bits of small numbers": random_bits(2, 1e-85, 1e-4),
    "powers of two": borders(),
    "shares of powers of ten": shares(),
    "whole numbers and halves": whole_numbers(),
}


@pytest.mark.parametrize("name", CASES)
def test_digits_are_those_of_python(name: str) -> None:
    doubles = np.concatenate([CASES[name], -CASES[name]])
    doubles = doubles[np.abs(doubles) > 1e-88]
    made = written(doubles)
    assert made is not None
    texts = made.decode().splitlines()
    assert len(texts) == len(doubles)
    for value, text in zip(doubles.tolist(), texts, strict=True):
        assert float(text) == value
        assert Decimal(text).normalize().as_tuple() == Decimal(repr(value)).normalize().as_tuple()


def test_zero_keeps_its_sign() -> None:
    assert written(np.array([0.0, -0.0, 1.0])) == b"0.0\n-0.0\n1.0\n"


@pytest.mark.parametrize("value", [1e17, 1e300, 5e-324, 1e-95, np.inf, -np.inf, np.nan])
def test_another_form_than_these_is_said(value: float) -> None:
    assert written(np.array([1.0, value])) is None


def test_whole_numbers_are_written_as_they_are() -> None:
    edges = [sign * (10**e + i) for e in range(17) for i in (-1, 0, 1) for sign in (1, -1)]
    whole = np.array([*edges, 10**17 - 1, 1 - 10**17, 0], np.int64)
    made = written(np.zeros(len(whole)), whole)
    assert made is not None
    assert [line.split(",")[1] for line in made.decode().splitlines()] == [str(i) for i in whole]
    assert written(np.zeros(1), np.array([10**17])) is None


def test_58_bits_tell_an_end_from_a_tenth() -> None:
    """Of all doubles from 10⁻⁹¹ to 2⁵⁴; four bits less, or among larger ones, they would not."""
    written_here = range(-356, 2)
    assert not any(has_an_end_close_to_a_tenth(q, 4) for q in written_here)
    assert any(has_an_end_close_to_a_tenth(q, 16) for q in written_here)
    assert has_an_end_close_to_a_tenth(2, 0)


def test_the_first_number_within_is_found() -> None:
    for m in range(1, 24):
        for a in range(m):
            for low in range(m):
                for high in range(low, m):
                    tried = (x for x in range(m) if low <= a * x % m <= high)
                    assert first_within(a, m, low, high) == next(tried, None)
