"""Rows that come later, part by part: each is hidden by noise that dominates its own rows.

The attacker knows means, covariances and categories of the part, and which records were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.linalg import eigh

from app.numerics.copies.applied import applied_variance
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, dominate, rows_for_a_shape
from tests.numerics.copies.released import Codes, Numbers, Part

PARTS = 12
Stream = Callable[[np.random.Generator], Iterator[tuple[Numbers, Codes]]]


def no_codes(rows: int) -> Codes:
    return np.zeros((rows, 0), dtype=np.int32)


def growing(factor: float, columns: int = 6, rows: int = 70) -> Stream:
    """Rows that spread further from part to part by this factor."""

    def stream(rng: np.random.Generator) -> Iterator[tuple[Numbers, Codes]]:
        yield rng.normal(size=(1_000, columns)), no_codes(1_000)
        for part in range(1, PARTS):
            yield factor**part * rng.normal(size=(rows, columns)), no_codes(rows)

    return stream


def jumping(factor: float) -> Stream:
    """Rows that spread further once and for ever."""

    def stream(rng: np.random.Generator) -> Iterator[tuple[Numbers, Codes]]:
        yield rng.normal(size=(1_000, 6)), no_codes(1_000)
        for _ in range(1, PARTS):
            yield factor * rng.normal(size=(70, 6)), no_codes(70)

    return stream


def many_numbers_after_few_rows(rng: np.random.Generator) -> Iterator[tuple[Numbers, Codes]]:
    yield rng.normal(size=(100, 20)), no_codes(100)
    for _ in range(1, PARTS):
        yield 1.3 * rng.normal(size=(210, 20)), no_codes(210)


def two_of_fourteen_columns(rng: np.random.Generator) -> Iterator[tuple[Numbers, Codes]]:
    yield rng.normal(size=(1_000, 14)), no_codes(1_000)
    for _ in range(1, PARTS):
        numbers = rng.normal(size=(150, 14))
        numbers[:, :2] = 2 * numbers[:, :1] + 0.1 * numbers[:, :2]
        numbers[:, 2:] = np.nan
        yield numbers, no_codes(150)


STREAMS: dict[str, Stream] = {
    "jumps 1.25": jumping(1.25),
    "jumps 1.8": jumping(1.8),
    "grows 5 %": growing(1.05),
    "grows 10 %": growing(1.10),
    "20 numbers after 100 rows": many_numbers_after_few_rows,
    "2 of 14 columns": two_of_fourteen_columns,
    "few rows of one column": growing(1.08, columns=1, rows=20),
}


def least_left(numbers: Numbers, S: Numbers, a: float) -> float:
    """The least share of variance that is left of a combination of the columns that the rows have."""
    there = np.flatnonzero(~np.isnan(numbers).all(axis=0))
    K = np.atleast_2d(np.cov(numbers[:, there], rowvar=False))
    most = eigh(K, S[np.ix_(there, there)], eigvals_only=True)[-1]
    return float(a / (a + most))


@pytest.mark.parametrize("v", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("name", STREAMS)
def test_every_part_of_every_stream_keeps_the_promise(name: str, v: float) -> None:
    parts = list(STREAMS[name](np.random.default_rng(1)))
    first = covariance_shape(row_moments(parts[0][0]))
    assert all(len(numbers) >= rows_for_a_shape(numbers.shape[1]) for numbers, _ in parts[1:])
    bare = []
    for numbers, _ in parts:
        own = covariance_shape(row_moments(numbers))
        S = dominate(first, own)
        assert least_left(numbers, S, v) >= v / (1 + v) * (1 - 1e-9)
        assert eigh(S, first, eigvals_only=True)[0] >= 1 - 1e-9
        bare.append(least_left(numbers, first, v))
    # The control: by the noise of the first part alone, later ones are found.
    assert min(bare) < v / (1 + v) - 0.02


def test_what_a_part_needs_does_not_depend_on_the_parts_before_it() -> None:
    """Twenty rows in a wrong unit cost the part they are in, and no other."""
    rng = np.random.default_rng(2)
    first = covariance_shape(row_moments(rng.normal(size=(1_000, 3))))
    wrong = dominate(first, covariance_shape(row_moments(100 * rng.normal(size=(50, 3)))))
    later = dominate(first, covariance_shape(row_moments(rng.normal(size=(50, 3)))))
    assert np.sqrt(np.diag(wrong)).min() > 50
    assert np.sqrt(np.diag(later)).max() < 2


@pytest.mark.parametrize("v", [0.25, 1.0, 4.0])
def test_categories_that_begin_to_tell_raise_the_noise_of_their_part(v: float) -> None:
    """At first they tell nothing of the number, later 95 % of it."""
    rng = np.random.default_rng(3)

    def part(rows: int, told: float) -> Part:
        group = rng.integers(0, 4, rows)
        effect = np.sqrt(told) * ((group - 1.5) / np.sqrt(1.25))
        number = effect + np.sqrt(1 - told) * rng.normal(size=rows)
        return Part(number[:, None], group[:, None].astype(np.int32))

    before, after = part(4_000, 0.0), part(400, 0.95)
    r_squared = max(before.r_squared, after.r_squared)
    assert before.r_squared < 0.01
    assert r_squared == pytest.approx(0.95, abs=0.01)
    a = applied_variance(v, r_squared)
    q, rest = 1 / (1 + a), 1 - r_squared
    assert (1 - q) * (1 - r_squared / (1 + a)) >= v / (1 + v) * (1 - 1e-9)
    # The control: with the first part's own variance who knows the kept records is left with less.
    q = 1 / (1 + applied_variance(v, before.r_squared))
    left = (1 - q) * v / (1 + v) + q * v * rest / (v + rest)
    assert left < v / (1 + v) - 0.02
