"""One-pass moments of rows with missing cells: of all cells, and of complete rows.

| here | meaning |
|---|---|
| n | `rows`, all rows, those without a single value among them |
| n_j, m_j | how many values column j has, and their mean |
| n_c | rows in which no cell is missing; the others are also seen by their pattern (`patterns`) |
| X̃ | the rows with missing cells set to the column's mean |
| V_jk | `squares`: Σ (x_j - m_jk)² over the rows that have columns j and k (`moments`) |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.copies.shapes.gaps.patterns import Columns, Patterns, packed_gaps
from app.numerics.moments import Moments, block_moments, incomplete_moments


@dataclass(frozen=True)
class RowMoments:
    """Row count, moments of the present cells, and moments of complete rows."""

    rows: int
    present: Moments
    complete: Moments
    squares: FloatArray
    patterns: Patterns = field(default_factory=Patterns)

    @classmethod
    def none(cls, d: int) -> Self:
        """Moments of no rows of d columns."""
        return cls(0, Moments.none(d), Moments.none(d), np.zeros((d, d)))

    @property
    def columns(self) -> int:
        """d."""
        return len(self.present.count)

    @property
    def complete_rows(self) -> int:
        """n_c; every row is complete where there is no column."""
        return int(self.complete.count[0, 0]) if self.columns else self.rows

    def merged(self, other: RowMoments) -> RowMoments:
        """Moments of both sets of rows; V gains δ_jk²·n·n'/N, in the words of `moments`."""
        ours, theirs = self.present, other.present
        total = np.maximum(ours.count + theirs.count, 1.0)
        seen = (ours.count > 0) & (theirs.count > 0)
        with np.errstate(over="ignore", invalid="ignore"):
            shift = np.where(seen, theirs.mean - ours.mean, 0.0)
            between = shift**2 * (ours.count * theirs.count / total)
        return RowMoments(
            self.rows + other.rows,
            self.present.merged(other.present),
            self.complete.merged(other.complete),
            self.squares + other.squares + between,
            self.patterns.merged(other.patterns),
        )

    def imputed_covariance(self) -> FloatArray:
        """K_I = D·Cov(X̃)·D with D_j = √(n/n_j), (d, d): semidefinite whatever is missing.

        A missing cell adds nothing about the column's mean, so the comoment of X̃ follows from that
        of the cells present together: C_jk + n_jk·(m_jk - m_j)·(m_kj - m_k), in the words of
        `moments`. Columns without a value are 0.
        """
        present = self.present
        values = np.diag(present.count)
        shift = np.where(present.count > 0, present.mean - np.diag(present.mean)[:, None], 0.0)
        comoment = present.comoment + present.count * shift * shift.T
        spread = np.sqrt(
            np.divide(self.rows, values, out=np.zeros_like(values), where=values > 0)
            / max(self.rows - 1, 1)
        )
        covariance = comoment * spread[:, None] * spread
        return np.asarray((covariance + covariance.T) / 2)

    def filled_covariance(self) -> FloatArray:
        """Cov(X̃), (d, d): K_I before columns are stretched.

        Of rows that have the columns of w, n_w of them, w'·Cov(X̃)·w is n_w/n of their variance at
        least, which stretching by column does not promise.
        """
        values = np.diag(self.present.count)
        unstretched = np.sqrt(values / max(self.rows, 1))
        return np.asarray(self.imputed_covariance() * np.outer(unstretched, unstretched))

    def pair_covariance(self, j: int, k: int) -> FloatArray:
        """The covariance of two columns over the rows that have both, (2, 2)."""
        both = self.present.comoment[j, k]
        found = np.array([[self.squares[j, k], both], [both, self.squares[k, j]]])
        return np.asarray(found / max(self.present.count[j, k] - 1.0, 1.0))

    def having(self, columns: Columns) -> Moments:
        """Moments of some columns over the rows that have all of them, as far as patterns are kept."""
        return self.patterns.having(columns, self.complete)

    def complete_covariance(self) -> FloatArray:
        """K_C, the covariance of the complete rows, (d, d); 0 when there are not two of them."""
        return self.complete.covariance()


def row_moments(block: FloatArray) -> RowMoments:
    """The moments of one block of rows, shape (n, d), missing cells NaN."""
    packed = packed_gaps(block)
    if not packed.any():
        present = block_moments(block)
        return RowMoments(len(block), present, present, _own_squares(present))
    complete, patterns, rare = Patterns.apart(block, packed)
    d = block.shape[1]
    whole = int(complete.count[0, 0])
    with np.errstate(over="ignore", invalid="ignore"):
        frequent = RowMoments(
            len(block) - whole - len(rare), *_gappy(patterns.of_cells(d)), patterns
        )
        others = RowMoments(len(rare), *_gappy(incomplete_moments(rare)))
    found = RowMoments(whole, complete, complete, _own_squares(complete))
    return found.merged(frequent).merged(others)


def _gappy(found: tuple[Moments, FloatArray]) -> tuple[Moments, Moments, FloatArray]:
    """Moments and V of rows of which none is complete."""
    return found[0], Moments.none(len(found[1])), found[1]


def _own_squares(complete: Moments) -> FloatArray:
    """V of rows without gaps."""
    return np.repeat(np.diag(complete.comoment)[:, None], len(complete.count), axis=1)
