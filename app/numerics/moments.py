"""One-pass count, mean and covariance of a table in blocks.

Blocks are merged by the pairwise update of [chan1983]: the squares of a block are taken about the
block's own mean, so that a column at 10⁹ with variance 1 loses nothing. Missing cells are NaN; each
pair of columns is averaged over the rows in which both are present (pairwise deletion).

| symbol | name | shape | meaning |
|---|---|---|---|
| n_jk | `count` | (d, d) | rows in which columns j and k are both present; the diagonal counts column j |
| m_jk | `mean` | (d, d) | mean of column j over those rows; the diagonal is the mean of column j |
| C_jk | `comoment` | (d, d) | Σ (x_j - m_jk)(x_k - m_kj) over those rows |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from app.numerics.arrays import FloatArray, IntArray
from app.numerics.covariances import nearest_semidefinite


@dataclass(frozen=True)
class Moments:
    """Count, means and comoments of the rows seen so far."""

    count: FloatArray
    mean: FloatArray
    comoment: FloatArray

    @classmethod
    def none(cls, d: int) -> Self:
        """The moments of no rows of d columns."""
        return cls(np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d)))

    @property
    def means(self) -> FloatArray:
        """Mean of each column, shape (d,); NaN for a column without a value."""
        return np.where(np.diag(self.count) > 0, np.diag(self.mean), np.nan)

    @property
    def counts(self) -> IntArray:
        """How many values each column has, shape (d,)."""
        return np.diag(self.count).astype(np.int64)

    def merged(self, other: Moments) -> Moments:
        """The moments of both sets of rows together [chan1983].

        With δ_jk = m'_jk - m_jk and N = n + n': the mean moves by δ·n'/N and the comoment gains
        δ_jk·δ_kj·n·n'/N. Exact but for rounding, in any order. Beyond the doubles as
        `block_moments`.
        """
        total = self.count + other.count
        share = np.divide(other.count, total, out=np.zeros_like(total), where=total > 0)
        with np.errstate(over="ignore", invalid="ignore"):
            shift = np.where(other.count > 0, other.mean - self.mean, 0.0)
            # Where nothing was seen before, share is 1 and the other's mean is taken as it is.
            return Moments(
                total,
                np.where(self.count > 0, self.mean + shift * share, other.mean),
                self.comoment + other.comoment + shift * shift.T * self.count * share,
            )

    def covariance(self) -> FloatArray:
        """Sample covariance C_jk/(n_jk - 1), shape (d, d), symmetric and positive semidefinite.

        Pairwise deletion may make it indefinite; the nearest semidefinite matrix is then taken
        (`nearest_semidefinite`, in units of the columns' own scale). Pairs never present together
        count as uncorrelated, columns with fewer than two values as constant.
        """
        freedom = self.count - 1.0
        covariance = np.divide(
            self.comoment, freedom, out=np.zeros_like(freedom), where=freedom > 0
        )
        covariance = (covariance + covariance.T) / 2
        if np.all(self.count == self.count.flat[:1]):
            return covariance  # a Gram matrix by construction
        nearest, _ = nearest_semidefinite(covariance, scale=np.sqrt(np.diag(covariance)))
        return nearest


def block_moments(block: FloatArray) -> Moments:
    """The moments of one block of rows, shape (n, d), missing cells NaN; O(n d²) in one product.

    Values whose squares exceed the doubles give moments that are not finite, without a warning.
    """
    n, d = block.shape
    if n == 0:
        return Moments.none(d)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = block.sum(axis=0)
        if np.isnan(sums).any():
            return incomplete_moments(block)[0]
        return _complete(block, sums / n)


def _complete(block: FloatArray, mean: FloatArray) -> Moments:
    """Correct the mean by its rounding error: the corrected two-pass algorithm."""
    n = len(block)
    centred = block - mean
    rest = centred.sum(axis=0) / n
    return gapless(n, mean + rest, centred.T @ centred - n * rest[:, None] * rest)


def gapless(n: float, mean: FloatArray, comoment: FloatArray) -> Moments:
    """The moments of n rows without gaps, of their mean (d,) and comoment (d, d)."""
    d = len(mean)
    return Moments(np.full((d, d), float(n)), np.repeat(mean[:, None], d, axis=1), comoment)


def incomplete_moments(block: FloatArray) -> tuple[Moments, FloatArray]:
    """The moments of rows with gaps, and Σ (x_j - m_jk)² over the rows with both, (d, d)."""
    present = ~np.isnan(block)
    weights = present.astype(np.float64)
    values = present.sum(axis=0)
    centre = np.where(present, block, 0.0).sum(axis=0) / np.maximum(values, 1)
    centred = np.where(present, block - centre, 0.0)
    return moments_about(
        centre,
        weights.T @ weights,
        centred.T @ weights,
        centred.T @ centred,
        (centred**2).T @ weights,
    )


def moments_about(
    centre: FloatArray,
    count: FloatArray,
    sums: FloatArray,
    products: FloatArray,
    squares: FloatArray,
) -> tuple[Moments, FloatArray]:
    """The same from Σ 1, Σ (x_j - c_j), Σ (x_j - c_j)(x_k - c_k) and Σ (x_j - c_j)², (d, d) each.

    All over the rows where both columns are present; c is near the means.
    """
    offset = np.divide(sums, count, out=np.zeros_like(sums), where=count > 0)
    comoment = products - offset * offset.T * count
    squares = np.maximum(squares - count * offset**2, 0.0)
    return Moments(count, np.where(count > 0, centre[:, None] + offset, 0.0), comoment), squares
