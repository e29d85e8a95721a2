"""The shape dominates the data in every direction, proved without rounding for any table."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.numerics.copies.shapes.row_moments import RowMoments, row_moments
from app.numerics.copies.shapes.shape import (
    at_sampling_precision,
    covariance_shape,
    dominate,
    factor_at_sampling_precision,
    rows_for_a_shape,
    shape_factor,
    without_spread,
)
from tests.numerics.copies.exact import (
    difference,
    exact,
    exact_covariance,
    is_positive_definite,
)

Matrix = NDArray[np.float64]

BELOW = 1 - Fraction(1, 10**9)


def looked_at(rows: Matrix, cuts: tuple[int, ...] = ()) -> RowMoments:
    blocks = [row_moments(block) for block in np.split(rows, cuts)]
    return functools.reduce(RowMoments.merged, blocks, RowMoments.none(rows.shape[1]))


def dominates(S: Matrix, K: list[list[Fraction]]) -> bool:
    """Whether wᵀSw > (1 - 10⁻⁹)·wᵀKw for every w."""
    return is_positive_definite(difference(exact(S), K, BELOW))


def complete(rows: Matrix) -> Matrix:
    return np.asarray(rows[~np.isnan(rows).any(axis=1)])


@st.composite
def tables(draw: st.DrawFn, d: int | None = None) -> Matrix:
    """Rows of any rank, scale, centre and pattern of gaps."""
    d = draw(st.integers(1, 5)) if d is None else d
    n = draw(st.integers(2, 40))
    rank = draw(st.integers(1, d))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    nearly = draw(st.sampled_from([0.0, 1e-14, 1e-9, 1e-4, 1.0]))
    rows = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    rows += nearly * rng.normal(size=(n, d))
    scale = 10.0 ** rng.uniform(-12, 12, d) if draw(st.booleans()) else np.ones(d)
    rows = (rows + draw(st.sampled_from([0.0, 1.0, 1e3]))) * scale
    gaps = rng.random((n, d)) < draw(st.sampled_from([0.0, 0.05, 0.3, 0.9]))
    return np.where(gaps, np.nan, rows)


@settings(max_examples=300, deadline=None)
@given(tables())
def test_the_shape_dominates_the_complete_rows_in_every_direction(rows: Matrix) -> None:
    moments = looked_at(rows, (len(rows) // 2,))
    assume(not len(without_spread(moments)))
    S = covariance_shape(moments)
    assert is_positive_definite(exact(S))
    assert dominates(S, exact_covariance(complete(rows)))
    L = shape_factor(S)
    assert (np.diag(L) > 0).all()
    unit = np.sqrt(np.diag(S))
    np.testing.assert_allclose(L @ L.T / np.outer(unit, unit), S / np.outer(unit, unit), atol=1e-13)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 4).flatmap(lambda d: st.tuples(tables(d), tables(d))))
def test_a_later_shape_dominates_the_one_before_it_and_its_own_rows(
    parts: tuple[Matrix, Matrix],
) -> None:
    first, later = parts
    before = looked_at(first)
    assume(not len(without_spread(before)))
    S_q = covariance_shape(before)
    S_p = dominate(S_q, covariance_shape(looked_at(later)))
    assert is_positive_definite(exact(S_p))
    assert dominates(S_p, exact(S_q))
    assert dominates(S_p, exact_covariance(complete(later)))


def test_a_covariance_of_pairs_does_not_dominate() -> None:
    """The control: the same claim fails for what was drawn before."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 6)) + 0.001 * rng.normal(size=(500, 6))
    rows = np.where(rng.random(rows.shape) < 0.05, np.nan, rows)
    moments = looked_at(rows)
    known = exact_covariance(complete(rows)[:50])
    pairwise = moments.present.covariance() + 1e-9 * np.eye(6)
    assert not dominates(pairwise, known)
    assert dominates(covariance_shape(moments), exact_covariance(complete(rows)))


def test_what_is_missing_is_filled_with_the_mean_in_one_pass() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)) + 1e6
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[7] = np.nan
    filled = np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
    stretch = np.sqrt(300 / (~np.isnan(rows)).sum(axis=0))
    expected = np.cov(filled.T) * np.outer(stretch, stretch)
    for cuts in ((), (1, 7, 8, 200)):
        moments = looked_at(rows, cuts)
        np.testing.assert_allclose(moments.imputed_covariance(), expected, rtol=1e-7)
        np.testing.assert_allclose(
            moments.complete_covariance(), np.cov(complete(rows).T), rtol=1e-7
        )
        assert moments.rows == 300
        assert moments.complete_rows == len(complete(rows))


def test_many_complete_rows_give_the_papers_shape() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(20_000, 6)) @ rng.normal(size=(6, 6))
    S = covariance_shape(looked_at(rows))
    K = np.cov(rows.T)
    assert np.abs(S / K - 1).max() < 1e-3
    np.testing.assert_allclose(S - K, np.diag(np.diag(K)) * 6 / 20_000, atol=1e-9)


def test_a_join_is_the_larger_in_each_direction() -> None:
    A = np.diag([1.0, 4.0, 9.0])
    B = np.diag([4.0, 1.0, 9.0])
    np.testing.assert_allclose(dominate(A, B), np.diag([4.0, 4.0, 9.0]), rtol=1e-10)
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0]
    np.testing.assert_allclose(
        dominate(turn @ A @ turn.T, turn @ B @ turn.T),
        turn @ np.diag([4.0, 4.0, 9.0]) @ turn.T,
        atol=1e-9,
    )
    with pytest.raises(ValueError, match="positive definite"):
        dominate(np.diag([1.0, 0.0]), np.eye(2))
    with pytest.raises(ValueError, match="positive definite"):
        dominate(np.array([[1.0, 2.0], [2.0, 1.0]]), np.eye(2))


@pytest.mark.parametrize("ratio", [1e-30, 1e-12, 1e12, 1e30])
def test_scales_far_apart_join(ratio: float) -> None:
    rng = np.random.default_rng(5)
    first, second = (rng.normal(size=(50, 4)) for _ in range(2))
    A = covariance_shape(looked_at(first))
    B = covariance_shape(looked_at(second)) * ratio
    S = dominate(A, B)
    assert dominates(S, exact(A))
    assert dominates(S, exact(B))


def test_columns_without_two_values_have_no_shape() -> None:
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(40, 6))
    rows[:, 1] = 0.1
    rows[:, 2] = np.nan
    rows[1:, 3] = np.nan
    rows[:, 4] = 1e17
    moments = looked_at(rows, (3, 17))
    assert without_spread(moments).tolist() == [1, 2, 3, 4]
    assert without_spread(looked_at(rows[:1])).tolist() == list(range(6))
    own = covariance_shape(moments)
    assert own[2].tolist() == [0.0] * 6
    dominate(np.eye(6), own)
    with pytest.raises(ValueError, match="positive definite"):
        shape_factor(own)
    assert covariance_shape(looked_at(rows[:1])).any() == np.False_


def test_without_a_complete_row_the_variances_double() -> None:
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(100, 2))
    rows[np.arange(100), np.arange(100) % 2] = np.nan
    moments = looked_at(rows)
    assert moments.complete_rows == 0
    S = covariance_shape(moments)
    np.testing.assert_allclose(np.diag(S), 2 * np.diag(moments.imputed_covariance()), rtol=1e-9)


def test_a_shape_of_its_own_takes_ten_rows_for_each_column_and_ten() -> None:
    assert rows_for_a_shape(10) == 110


@pytest.mark.parametrize("v", [0.25, 1.0, 4.0])
def test_on_many_complete_rows_a_copy_is_as_useful_as_under_the_papers_noise(v: float) -> None:
    """Covariances and regression coefficients that a copy gives differ by less than 0.2 %."""
    rng = np.random.default_rng(8)
    common = rng.normal(size=(20_000, 1))
    rows = (common + rng.normal(size=(20_000, 10))) * 10.0 ** rng.uniform(-6, 6, 10)
    K = np.cov(rows.T)
    papers, ours = (1 + v) * K, K + v * covariance_shape(looked_at(rows))
    unit = np.sqrt(np.diag(papers))
    assert np.abs((ours - papers) / np.outer(unit, unit)).max() < 0.002
    for target in range(10):
        others = np.delete(np.arange(10), target)
        first, second = (
            np.linalg.solve(C[np.ix_(others, others)], C[others, target]) for C in (papers, ours)
        )
        np.testing.assert_allclose(second, first, rtol=0.002)


@pytest.mark.parametrize("n", [300, 3_000])
def test_a_published_factor_does_not_tell_the_last_row_of_columns_that_nearly_repeat(
    n: int,
) -> None:
    """Whoever knows all rows but one finds that row among candidates by the factor that they give."""
    rng = np.random.default_rng(n)
    known = rng.normal(size=n - 1)
    nearly = 2.0 * known + 0.01 * rng.normal(size=n - 1)
    candidates = np.linspace(0.0, 8.0, 161)

    def factor(last: float) -> NDArray[np.float64]:
        rows = np.column_stack([[*known, last], [*nearly, 2.0 * last]])
        return np.asarray(shape_factor(covariance_shape(row_moments(rows))))

    def width(
        published: NDArray[np.float64], rounded: functools.partial[NDArray[np.float64]]
    ) -> float:
        fits = [x for x in candidates if np.array_equal(rounded(factor(x)), published)]
        return float(max(fits) - min(fits))

    counts = np.array([n, n])
    product = functools.partial(factor_at_sampling_precision, counts=counts)
    entries = functools.partial(_entries_at_sampling_precision, n=n)
    truth = factor(5.0)
    assert width(product(truth), product) > 1.5
    assert width(entries(truth), entries) < 0.5, "rounded entry by entry, the factor tells the row"


def _entries_at_sampling_precision(L: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    return at_sampling_precision(L, np.diag(L)[:, None], np.array(n))
