"""The committed table against multiple precision."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
import pytest

from app.numerics.copies.noise import normal_table
from app.numerics.copies.noise.definition import normals_from_words, table, tails_from_words
from app.numerics.copies.noise.normal_table import (
    SEGMENTS,
    TableAltered,
    read_table,
    segment_bounds,
)
from app.numerics.copies.noise.steps import border_words
from bench.normal_table import DIGITS, coefficients, density, tail

LARGEST_ERROR = 5e-14


@pytest.mark.parametrize("segment", [0, 1, 31, 32, 700, 1_500, 1_663, 1_664, SEGMENTS - 1])
def test_segments_made_again_are_those_committed(segment: int) -> None:
    assert coefficients(segment) == table()[segment, 1:7].tolist()


def test_segments_meet_from_the_smallest_q_to_one_half() -> None:
    bounds = [segment_bounds(segment) for segment in range(SEGMENTS)]
    assert bounds[0][0] == 2.0**-54
    assert bounds[-1][1] == 0.5
    assert all(left[1] == right[0] for left, right in pairwise(bounds))


def test_the_error_is_small_at_every_border_of_a_segment_and_within() -> None:
    words = border_words()
    words = words[: len(words) // 2]  # the other half differs in the sign
    within = np.random.default_rng(0).integers(0, 2**53, 3_000, dtype=np.uint64) << np.uint64(11)
    small = within >> np.random.default_rng(1).integers(0, 52, 3_000, dtype=np.uint64)
    words = np.concatenate([words, within, small & ~np.uint64(1)])
    q, x = tails_from_words(words), normals_from_words(words)
    assert q.min() == 2.0**-54
    assert q.max() == 0.5 - 2.0**-54
    assert max(map(error, q.tolist(), x.tolist())) < LARGEST_ERROR


def error(q: float, x: float) -> float:
    """|x - x(q)| by one step of Newton, whose own error is of the order of its square."""
    with mpmath.workdps(DIGITS):
        exact = mpmath.mpf(x)
        return float(abs((tail(exact) - mpmath.mpf(q)) / density(exact)))


def test_an_altered_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normal_table, "SHA256", "0" * 64)
    with pytest.raises(TableAltered, match="not the table"):
        read_table()
