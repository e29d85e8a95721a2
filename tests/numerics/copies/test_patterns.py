"""Rows by the cells that they have: seen in one pass, and covered by the shape of the noise."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.numerics.copies.shapes.gaps import runs
from app.numerics.copies.shapes.gaps.patterns import MOST_PATTERNS, Patterns, packed_gaps
from app.numerics.copies.shapes.row_moments import RowMoments, row_moments
from app.numerics.copies.shapes.shape import covariance_shape, dominate, rows_for_a_shape
from app.numerics.moments import incomplete_moments
from tests.numerics.copies.exact import (
    difference,
    exact,
    exact_covariance,
    is_positive_definite,
)

Matrix = NDArray[np.float64]

BELOW = 1 - Fraction(1, 10**9)


def having(rows: Matrix, columns: tuple[int, ...]) -> Matrix:
    """The rows that have these columns, in these columns."""
    there = rows[:, columns]
    return np.asarray(there[~np.isnan(there).any(axis=1)])


def seen(rows: Matrix, cuts: tuple[int, ...] = ()) -> RowMoments:
    blocks = [row_moments(block) for block in np.split(rows, cuts)]
    return functools.reduce(RowMoments.merged, blocks, RowMoments.none(rows.shape[1]))


@st.composite
def tables_with_reasons(draw: st.DrawFn) -> Matrix:
    """Groups of rows with spreads, relations and gaps of their own."""
    d = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    groups = []
    for _ in range(draw(st.integers(1, 4))):
        rank = draw(st.integers(1, d))
        rows = rng.normal(size=(draw(st.integers(2, 60)), rank)) @ rng.normal(size=(rank, d))
        rows = rows * draw(st.sampled_from([1e-6, 1e-2, 1.0, 1e3]))
        gaps = np.array([draw(st.booleans()) for _ in range(d)])
        groups.append(np.where(gaps, np.nan, rows))
    groups.append(rng.normal(size=(rows_for_a_shape(d), d)) * 1e-3)
    table = np.vstack(groups)
    stray = rng.random(table.shape) < draw(st.sampled_from([0.0, 0.05, 0.3]))
    return np.where(stray, np.nan, table)[rng.permutation(len(table))]


@settings(max_examples=60, deadline=None)
@given(tables_with_reasons())
def test_the_shape_dominates_the_rows_that_have_two_columns_or_a_pattern(rows: Matrix) -> None:
    d = rows.shape[1]
    S = covariance_shape(seen(rows, (len(rows) // 3,)))
    present = {tuple(np.flatnonzero(row).tolist()) for row in ~np.isnan(rows)}
    pairs = {(j, k) for j in range(d) for k in range(j + 1, d)}
    for columns in present | pairs | {tuple(range(d))}:
        among = having(rows, columns)
        if len(columns) > 1 and len(among) >= rows_for_a_shape(len(columns)):
            K = exact_covariance(among)
            assert is_positive_definite(difference(exact(S[np.ix_(columns, columns)]), K, BELOW))


@settings(max_examples=60, deadline=None)
@given(tables_with_reasons())
def test_no_combination_is_left_with_less_than_its_share_of_rows(rows: Matrix) -> None:
    """M dominates n_O/n of the second moments of the rows that have O, whatever O is."""
    moments = seen(rows)
    S = covariance_shape(moments)
    filled = np.where(np.isnan(rows), 0.0, rows - np.nanmean(rows, axis=0))
    M = filled.T @ filled / (len(rows) - 1)
    unit = np.sqrt(np.diag(S))
    values = np.linalg.eigvalsh((S - M) / np.outer(unit, unit))
    assert values[0] > -1e-9


def test_stretching_by_column_alone_leaves_a_direction_bare() -> None:
    """The control: K_I and the complete rows, without patterns, is what was drawn before."""
    rows = two_kinds(np.random.default_rng(1))
    moments = seen(rows)
    K_I = moments.imputed_covariance()
    before = dominate(
        K_I + 3 / moments.complete_rows * np.diag(np.diag(K_I)), moments.complete_covariance()
    )
    K = np.cov(having(rows, (0, 1)).T)
    for S, least, most in ((before, 0.0, 0.1), (covariance_shape(moments), 1.0, 2.0)):
        ratios = np.linalg.eigvals(np.linalg.solve(K, S[:2, :2])).real
        assert least - 1e-9 < ratios.min() < most


def two_kinds(rng: np.random.Generator) -> Matrix:
    """Two columns that vary, together, only in rows without the third."""
    first = 0.03 * rng.normal(size=10_000)
    first[4_000:6_000] *= 30
    second = first + 0.001 * rng.normal(size=10_000)
    third = rng.normal(size=10_000)
    third[4_000:] = np.nan
    second[6_000:] = np.nan
    return np.column_stack([first, second, third])


def test_moments_of_pairs_and_patterns_are_those_of_their_rows() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(600, 4)) @ rng.normal(size=(4, 4)) + [0.0, 1e3, -5.0, 1e-3]
    rows[rng.random(rows.shape) < 0.15] = np.nan
    rows[:50] = np.nan
    for cuts in ((), (1, 40, 300)):
        moments = seen(rows, cuts)
        for j, k in ((0, 1), (1, 2), (3, 0)):
            expected = np.cov(having(rows, (j, k)).T)
            np.testing.assert_allclose(moments.pair_covariance(j, k), expected, rtol=1e-8)
        for columns in ((0, 1, 2), (1, 3), (0, 1, 2, 3)):
            among = moments.having(columns)
            assert among.count[0, 0] == len(having(rows, columns))
            np.testing.assert_allclose(
                among.covariance(), np.cov(having(rows, columns).T), rtol=1e-8
            )
        np.testing.assert_allclose(
            moments.filled_covariance(),
            np.cov(np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows).T),
            rtol=1e-8,
        )


def test_the_most_frequent_patterns_are_kept() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(4_000, 8))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    rows[:1_000, 2:] = np.nan
    rows[:1_000, :2] = rng.normal(size=(1_000, 2))
    found = Patterns.of(rows[np.isnan(rows).any(axis=1)])
    assert len(found.runs) <= MOST_PATTERNS
    assert found.sets()[0] == (0, 1)
    both = found.merged(found)
    assert len(both.runs) == len(found.runs)
    assert both.runs[0, 1].rows == 2 * found.runs[0, 1].rows
    assert Patterns().merged(found) is found
    assert found.merged(Patterns()) is found


@pytest.mark.parametrize("columns", [2, 5])
def test_patterns_add_up_to_what_looking_at_the_rows_again_tells(columns: int) -> None:
    """Means far from 0 and apart from pattern to pattern; a column that some rows alone have."""
    rng = np.random.default_rng(9)
    rows = 1e6 + rng.normal(size=(2_000, columns)) @ rng.normal(size=(columns, columns))
    gap = rng.integers(0, columns, 2_000)
    rows += gap[:, None]
    rows[np.arange(2_000), gap] = np.nan
    rows[:3] = np.nan
    complete, patterns, others = Patterns.apart(rows, packed_gaps(rows))
    assert complete.count[0, 0] == 0
    taken = rows[(~np.isnan(rows)).sum(axis=1) > 1]
    assert len(taken) + len(others) == len(rows)
    moments, squares = patterns.of_cells(columns)
    expected, expected_squares = incomplete_moments(taken)
    np.testing.assert_array_equal(moments.count, expected.count)
    np.testing.assert_allclose(moments.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(moments.comoment, expected.comoment, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(squares, expected_squares, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("columns", [1, 3, 9, 17])
def test_rows_apart_are_all_rows_and_stay_as_they_are(
    columns: int, monkeypatch: pytest.MonkeyPatch, *, compiled: bool
) -> None:
    """Complete rows by themselves, also where a row is one cell, or more than are sorted at a time."""
    monkeypatch.setattr(runs, "_compiled", [])
    if compiled:
        runs.compile_runs()
    rng = np.random.default_rng(4)
    rows = 1e6 + rng.normal(size=(3_000, columns))
    rows[rng.random(rows.shape) < min(0.2, 1 / columns)] = np.nan
    before = rows.copy()
    found = row_moments(rows)
    np.testing.assert_array_equal(rows, before)
    whole = rows[~np.isnan(rows).any(axis=1)]
    assert found.complete_rows == len(whole)
    assert found.rows == len(rows)
    np.testing.assert_allclose(found.complete.means, whole.mean(axis=0), rtol=1e-14)
    expected = np.atleast_2d(np.cov(whole, rowvar=False))
    np.testing.assert_allclose(found.complete_covariance(), expected, rtol=1e-8)
    present, squares = incomplete_moments(rows)
    np.testing.assert_array_equal(found.present.count, present.count)
    np.testing.assert_allclose(found.present.comoment, present.comoment, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-7)
    again = row_moments(np.asfortranarray(rows))
    np.testing.assert_array_equal(again.present.comoment, found.present.comoment)
