"""Moments of a table that passes by in blocks are those of the table as a whole."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.moments import Moments, block_moments

Matrix = NDArray[np.float64]


def streamed(table: Matrix, cuts: list[int]) -> Moments:
    parts = [block_moments(block) for block in np.split(table, cuts)]
    return functools.reduce(Moments.merged, parts, Moments.none(table.shape[1]))


def sample(rows: int = 1_000, d: int = 4, seed: int = 1) -> Matrix:
    rng = np.random.default_rng(seed)
    # Well conditioned, so that gaps do not make the covariance indefinite.
    mixing = np.eye(d) + 0.3 * rng.normal(size=(d, d))
    return rng.normal(size=(rows, d)) @ mixing + rng.normal(size=d) * 10


def with_gaps(table: Matrix, share: float = 0.2, seed: int = 2) -> Matrix:
    gaps = np.random.default_rng(seed).random(table.shape) < share
    return np.where(gaps, np.nan, table)


@pytest.mark.parametrize("cuts", [[], [1], [500], [10, 11, 11, 400], list(range(1, 1_000))])
def test_blocks_give_what_the_whole_gives(cuts: list[int]) -> None:
    table = sample()
    moments = streamed(table, cuts)
    np.testing.assert_allclose(moments.means, table.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(moments.covariance(), np.cov(table.T), rtol=1e-11)
    assert moments.counts.tolist() == [1_000] * 4


def test_a_column_far_from_zero_keeps_its_variance() -> None:
    """The variance of 10⁹ + i/1000 is known exactly, and naive sums of squares lose all of it."""
    offsets = np.arange(4_096) / 4_096
    table = np.column_stack([1e9 + offsets, -1e9 - 2 * offsets])
    exact = [Fraction(value) for value in table[:, 0]]
    centre = sum(exact) / len(exact)
    variance = float(sum((value - centre) ** 2 for value in exact) / (len(exact) - 1))
    for cuts in ([], [100, 1_000, 4_000]):
        moments = streamed(table, cuts)
        expected = variance * np.array([[1, -2], [-2, 4]])
        np.testing.assert_allclose(moments.covariance(), expected, rtol=1e-10)
        np.testing.assert_allclose(moments.means[0], float(centre), rtol=1e-15)
    naive = (table[:, 0] ** 2).mean() - table[:, 0].mean() ** 2
    assert abs(naive / variance - 1) > 0.1


def test_a_column_at_a_billion_with_variance_one_comes_out_right() -> None:
    noise = np.random.default_rng(3).normal(size=200_000)
    table = (1e9 + noise)[:, None]
    moments = streamed(table, [65_536, 131_072])
    np.testing.assert_allclose(moments.covariance(), [[np.var(table - 1e9, ddof=1)]], rtol=1e-9)


def pairwise(table: Matrix) -> Matrix:
    """Pairwise-complete covariance, pair by pair from its definition."""
    d = table.shape[1]
    covariance = np.zeros((d, d))
    for j in range(d):
        for k in range(d):
            both = ~np.isnan(table[:, j]) & ~np.isnan(table[:, k])
            x, y = table[both, j], table[both, k]
            covariance[j, k] = ((x - x.mean()) * (y - y.mean())).sum() / (both.sum() - 1)
    return covariance


@pytest.mark.parametrize("cuts", [[], [1, 2, 3], [300, 301, 900]])
def test_missing_cells_are_left_out_pair_by_pair(cuts: list[int]) -> None:
    table = with_gaps(sample())
    moments = streamed(table, cuts)
    np.testing.assert_allclose(moments.means, np.nanmean(table, axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.covariance(), pairwise(table), rtol=1e-10)
    assert moments.counts.tolist() == (~np.isnan(table)).sum(axis=0).tolist()


def test_gaps_far_from_zero_lose_nothing_either() -> None:
    table = with_gaps(sample())
    far = streamed(table + 1e9, [300, 900])
    np.testing.assert_allclose(far.covariance(), pairwise(table), rtol=1e-5)


def test_the_fast_way_and_the_way_with_gaps_agree_on_a_complete_block() -> None:
    table = sample()
    gapless = block_moments(table)
    last = np.full((1, 4), np.nan)
    gapped = block_moments(np.vstack([table, last]))
    np.testing.assert_allclose(gapless.mean, gapped.mean, rtol=1e-13)
    np.testing.assert_allclose(gapless.comoment, gapped.comoment, rtol=1e-11)
    assert gapless.count.tolist() == gapped.count.tolist()


def test_order_of_merging_does_not_matter() -> None:
    table = with_gaps(sample())
    one, two, three = (block_moments(block) for block in np.split(table, [200, 700]))
    left = one.merged(two).merged(three)
    right = three.merged(one.merged(two))
    np.testing.assert_allclose(left.comoment, right.comoment, rtol=1e-10)
    np.testing.assert_allclose(left.mean, right.mean, rtol=1e-12)


def test_nothing_merged_is_what_was_there() -> None:
    moments = block_moments(with_gaps(sample()))
    for merged in (moments.merged(Moments.none(4)), Moments.none(4).merged(moments)):
        assert merged.mean.tolist() == moments.mean.tolist()
        assert merged.comoment.tolist() == moments.comoment.tolist()
    assert block_moments(np.empty((0, 4))).count.tolist() == Moments.none(4).count.tolist()


def test_an_indefinite_pairwise_covariance_is_projected() -> None:
    """Three columns that never meet in threes can claim correlations no distribution has."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=200)
    gap = np.full(200, np.nan)
    table = np.vstack(
        [
            np.column_stack([x, x, gap]),
            np.column_stack([gap, x, x]),
            np.column_stack([x, gap, -x]),
        ]
    )
    raw = pairwise(table)
    assert np.linalg.eigvalsh(raw)[0] < -0.1
    covariance = block_moments(table).covariance()
    eigenvalues = np.linalg.eigvalsh(covariance)
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
    # The nearest one keeps the positive part of the spectrum and is off by the negative part,
    # both in units of the columns' own scale.
    unit = np.sqrt(np.outer(np.diag(raw), np.diag(raw)))
    negative = np.minimum(np.linalg.eigvalsh(raw / unit), 0)
    np.testing.assert_allclose(np.linalg.norm((covariance - raw) / unit), np.linalg.norm(negative))


def test_constant_single_and_absent_columns_have_no_variance() -> None:
    table = np.array(
        [[5.0, np.nan, np.nan, 1.0], [5.0, 7.0, np.nan, 2.0], [5.0, np.nan, np.nan, 4.0]]
    )
    moments = streamed(table, [1])
    covariance = moments.covariance()
    expected = np.zeros((4, 4))
    expected[3, 3] = 7 / 3
    np.testing.assert_allclose(covariance, expected, atol=1e-15)
    np.testing.assert_array_equal(moments.means[[0, 1, 2]], [5.0, 7.0, np.nan])


def test_pairs_that_never_meet_count_as_uncorrelated() -> None:
    table = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 2.0], [np.nan, 6.0]])
    np.testing.assert_allclose(block_moments(table).covariance(), [[2.0, 0.0], [0.0, 8.0]])


@pytest.mark.parametrize("cuts", [[], [1], [2], [1, 2, 3]])
@pytest.mark.parametrize("huge", [1e200, 1e300, 1.7e308])
def test_moments_beyond_the_doubles_are_not_finite(cuts: list[int], huge: float) -> None:
    moments = streamed(np.array([[1.0], [huge], [huge], [-huge]]), cuts)
    assert not np.isfinite(moments.comoment).all()


def test_no_columns_are_no_trouble() -> None:
    moments = block_moments(np.empty((5, 0))).merged(block_moments(np.empty((3, 0))))
    assert moments.covariance().shape == (0, 0)


def test_a_wrong_divisor_would_be_noticed() -> None:
    table = sample(rows=20)
    covariance = streamed(table, [7]).covariance()
    assert not np.allclose(covariance, np.cov(table.T, ddof=0), rtol=1e-3)
