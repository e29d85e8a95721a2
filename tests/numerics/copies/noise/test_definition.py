"""The recipe written in numpy against known answers, its own words, and the normal distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr, ndtri

from app.numerics.copies.noise.definition import (
    RECIPE,
    normals_from_words,
    path_tile,
    released_tile,
    table,
    tails_from_words,
)
from app.numerics.copies.noise.keystream import keystream_words
from tests.numerics.copies.noise.test_keystream import KEY

KNOWN_NORMALS = {
    0x0000000000000000: "0x1.095b059d67c48p+3",
    0x0000000000000001: "-0x1.095b059d67c48p+3",
    0xFFFFFFFFFFFFFFFF: "-0x1.c800000000000p-54",
    0xFFFFFFFFFFFFFFFE: "0x1.c800000000000p-54",
    0x8000000000000000: "0x1.5956b8752894bp-1",
    0x00000000000007FF: "-0x1.095b059d67c48p+3",
    0x0000000000000800: "0x1.095b059d67c48p+3",
    0xFC53D8FFAF2A23E2: "0x1.2697a98135291p-6",
    0x4A0978B0D1735FC5: "-0x1.0f532b14089e4p+0",
    0x86F07751A4A84196: "0x1.43cdb515af2bdp-1",
    0x16B4DB3609EC4A4B: "-0x1.b3caa199370dap+0",
    0x7A7AA0EA836773B5: "-0x1.6aeafccd4113cp-1",
    0xBC1361F82CC1AB96: "0x1.5b0d94922d557p-2",
    0xE567960C00882AFA: "0x1.0b6ab023751a5p-3",
}
"""They must hold for ever, to the bit."""


def literal_normal(word: int) -> float:
    """One normal by Python's own floats, which no compiler fuses."""
    q = ((word >> 11) | 1) * 2.0**-54
    mantissa, exponent = math.frexp(q)  # q = mantissa·2^exponent, ½ ≤ mantissa < 1
    place = math.floor((2 * mantissa - 1) * 32)
    segment = (exponent + 53) * 32 + place
    middle = math.ldexp(1 + (2 * place + 1) / 64, exponent - 1)
    x = 0.0
    for coefficient in reversed(table()[segment, 1:7].tolist()):
        x = x * (q - middle) + coefficient
    return -x if word & 1 else x


def test_the_recipe_keeps_its_name() -> None:
    assert RECIPE == "aes256ctr-segments-v2"


@pytest.mark.parametrize(("word", "normal"), KNOWN_NORMALS.items())
def test_known_normals(word: int, normal: str) -> None:
    assert literal_normal(word).hex() == normal
    made = normals_from_words(np.array([word], dtype=np.uint64))
    assert float(made[0]).hex() == normal


def test_the_definition_equals_the_recipe_written_with_single_floats() -> None:
    words = keystream_words(KEY, 0, 0, 5_000)
    made = normals_from_words(words)
    assert made.tolist() == [literal_normal(word) for word in words.tolist()]


def test_a_word_and_its_complement_of_sign_give_opposite_normals() -> None:
    words = keystream_words(KEY, 0, 0, 1_000)
    np.testing.assert_array_equal(
        normals_from_words(words), -normals_from_words(words ^ np.uint64(1))
    )


def test_ten_bits_of_a_word_are_not_used() -> None:
    words = keystream_words(KEY, 0, 0, 1_000)
    np.testing.assert_array_equal(
        normals_from_words(words), normals_from_words(words ^ np.uint64(0x7FE))
    )


def test_the_extreme_words_give_the_smallest_and_the_largest_normals() -> None:
    words = np.array([0, 1, 2**64 - 2, 2**64 - 1], dtype=np.uint64)
    smallest, largest = 2.0**-54, 0.5 - 2.0**-54
    assert tails_from_words(words).tolist() == [smallest, smallest, largest, largest]
    normals = normals_from_words(words)
    assert normals[0] == pytest.approx(-ndtri(smallest), abs=1e-13)
    assert normals[1] == -normals[0]
    assert np.abs(normals[2:]).max() < 5e-14


@pytest.fixture(scope="module")
def many() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return normals_from_words(keystream_words(KEY, 5, 0, 400_000))


def test_normals_are_accepted_at_unit_scale_and_rejected_beside_it(
    many: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> None:
    assert anderson_darling(many) < 6  # exceeded once in a thousand times
    for scale in (0.98, 1.02):
        assert anderson_darling(many * scale) > 20


def test_moments_are_those_of_the_standard_normal(
    many: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> None:
    for power, (mean, variance) in {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96)}.items():
        error = np.mean(many**power) - mean
        assert abs(error) < 4 * math.sqrt(variance / len(many))


def test_tails_hold_as_many_values_as_they_should(
    many: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> None:
    for sigma in (1, 2, 3, 4):
        expected = len(many) * stats.norm.sf(sigma)
        for side in (many, -many):
            assert abs(np.count_nonzero(side > sigma) - expected) < 5 * math.sqrt(expected) + 5


def anderson_darling(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """The statistic for the standard normal itself, nothing estimated."""
    ordered, n = np.sort(values), len(values)
    weights = 2 * np.arange(1, n + 1) - 1
    return float(-n - np.mean(weights * (log_ndtr(ordered) + log_ndtr(-ordered[::-1]))))


def test_a_path_with_neighbours_sums_in_the_order_that_is_written_down() -> None:
    words = keystream_words(KEY, 0, 0, 60).reshape(2, 30)
    g = normals_from_words(words)
    low, high = g[::-1] * 1.7, g[:, ::-1] * 0.3
    cases = [
        ((None, None), g * 0.6),
        ((low, None), low * 0.25 + g * 0.6),
        ((None, high), high * 0.75 + g * 0.6),
        ((low, high), (low * 0.25 + high * 0.75) + g * 0.6),
    ]
    for (lower, upper), expected in cases:
        made = np.empty(words.shape)
        path_tile(words, 0.6, lower, 0.25, upper, 0.75, made)
        np.testing.assert_array_equal(made, expected)


def test_a_released_number_is_the_sum_on_the_grid_and_missing_stays_missing() -> None:
    path = normals_from_words(keystream_words(KEY, 0, 0, 60).reshape(2, 30))
    original = np.linspace(-9.0, 9.0, 30)
    original[4] = np.nan
    made = np.empty(30)
    released_tile(path, np.array([0.5, -2.0]), original, 0.25, made)
    expected = [
        round(((0.5 * a + -2.0 * b) + x) * 4) / 4 if not math.isnan(x) else x
        for a, b, x in zip(path[0].tolist(), path[1].tolist(), original.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(made, expected)
