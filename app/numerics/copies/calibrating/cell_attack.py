"""An attacker who knows the mean and the covariance of the numbers in each cell of the records.

Lines miss what trees learn: that the numbers of some records vary less than those of others, and that a
noisy number says which cells its row may be of. Both follow from a mixture of normal cells:

    record kept:      the best line within its cell leaves Σ_c π_c·[C_c - C_c(C_c+aS)⁻¹C_c]_jj,
    record replaced:  cells weigh by π_c·N(Y; μ_c, M_c+aS), and the best lines of the cells so weighed
                      leave what they leave of the rows, with noise drawn for them.

On adult at a = 1.375 it is left with 0.484 of age and 0.528 of the hours, boosted trees with 0.483 and
0.526, where lines are left with 0.500 and 0.547.

| here | meaning |
|---|---|
| π_c, μ_c, M_c | a cell's share of the rows, and mean and covariance of its numbers |
| C_c | covariance in the cell of what the main effects of the record leave of its numbers |
| S = L·Lᵀ | shape of the noise; numbers are taken as L⁻¹x, in which the noise is round |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from app.numerics.copies.shapes.shape import shape_factor

Matrix = NDArray[np.float64]
Places = NDArray[np.intp]

MOST_ROWS = 2_048
"""Rows for which noise is drawn. Errors are compared with those of lines under the same noise."""

SEED = 12
"""Of the noise of this attack, which has nothing to do with that of any copy."""


@dataclass(frozen=True)
class CellRows:
    """Rows, their cells, and what is to be found.

    where:
        numbers  (n, d), gaps filled
        left     (n, d), what the main effects of the record leave of them
        cells    (n,), from 0
        facts    (n, f), indicators of categories
    """

    numbers: Matrix
    left: Matrix
    cells: Places
    facts: Matrix


def shares_of_lines(rows: CellRows, S: Matrix, variances: Sequence[float]) -> tuple[Matrix, Matrix]:
    """What it is left with at each variance, as a share of what lines are left with, 1 at most.

    Of the numbers, (g, d), and of the facts, (g, f).
    """
    L = shape_factor(S)
    X = solve_triangular(L, (rows.numbers - rows.numbers.mean(axis=0)).T, lower=True).T
    R = solve_triangular(L, rows.left.T, lower=True).T
    count = int(rows.cells.max()) + 1
    members = [np.flatnonzero(rows.cells == cell) for cell in range(count)]
    whole, left_whole = _Normal.of(X), _Normal.of(R)
    cells = [_Normal.of(X[own]) for own in members]
    left_cells = [_Normal.of(R[own]) for own in members]
    pi = np.array([len(own) for own in members]) / len(X)
    attack = _FactAttack.of(rows.facts, members, X, whole)
    seen = slice(0, MOST_ROWS)
    noise = np.random.default_rng(SEED).normal(size=X[seen].shape)
    numbers, facts = [], []
    for a in variances:
        Y = X[seen] + np.sqrt(a) * noise
        guess, likely = _guess(cells, pi, Y, a)
        by_line = whole.guess(Y, a)
        found = _squares((X[seen] - guess) @ L.T) / _squares((X[seen] - by_line) @ L.T)
        replaced = whole.left(L, a)
        kept = sum(share * cell.left(L, a) for share, cell in zip(pi, left_cells, strict=True))
        attacked = a * replaced * found + kept
        numbers.append(attacked / (a * replaced + left_whole.left(L, a)))
        facts.append(attack.left(rows.facts[seen], likely, Y, a))
    return np.minimum(numbers, 1.0), np.minimum(facts, 1.0)


@dataclass(frozen=True)
class _Normal:
    """Mean (d,) and covariance U·diag(k)·Uᵀ (d, d) of rows, where the noise is round."""

    mean: Matrix
    k: Matrix
    U: Matrix

    @classmethod
    def of(cls, rows: Matrix) -> _Normal:
        mean = rows.mean(axis=0)
        centred = rows - mean
        k, U = np.linalg.eigh(centred.T @ centred / max(len(rows) - 1, 1))
        return cls(mean, np.maximum(k, 0.0), U)

    def guess(self, Y: Matrix, a: float) -> Matrix:
        """The best line, (n, d)."""
        shrink = (self.U * (self.k / (self.k + a))) @ self.U.T
        return np.asarray(self.mean + (Y - self.mean) @ shrink)

    def left(self, L: Matrix, a: float) -> Matrix:
        """What the best line leaves of each number, in its own units, (d,)."""
        return np.asarray((L @ self.U) ** 2 @ (a * self.k / (self.k + a)))


def _guess(cells: Sequence[_Normal], pi: Matrix, Y: Matrix, a: float) -> tuple[Matrix, Matrix]:
    """The weighed guess, (n, d), and how likely each cell is, (n, c).

    All cells in one product: z are the noisy rows as each of them sees them, (n, c, d), less its mean, along its
    axes, in standard deviations.
    """
    (n, d), c = Y.shape, len(cells)
    means = np.array([cell.mean for cell in cells])
    k = np.array([cell.k for cell in cells])
    sd = np.sqrt(k + a)
    scales = [cell.U / own for cell, own in zip(cells, sd, strict=True)]
    flat = Y @ np.hstack(scales)
    flat -= np.concatenate([mean @ scale for mean, scale in zip(means, scales, strict=True)])
    z = flat.reshape(n, c, d)
    log_density = -0.5 * np.einsum("ncd,ncd->nc", z, z) - np.log(sd).sum(axis=1)
    weights = log_density + np.log(pi)
    likely = np.exp(weights - weights.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    z *= k / sd
    z *= likely[:, :, None]
    return likely @ means + flat @ np.vstack([cell.U.T for cell in cells]), likely


@dataclass(frozen=True)
class _FactAttack:
    """What is known of the facts: their shares (f,), chances in each cell (c, f) and covariances with numbers (d, f)."""

    share: Matrix
    chances: Matrix
    g: Matrix
    whole: _Normal

    @classmethod
    def of(cls, facts: Matrix, members: Sequence[Places], X: Matrix, whole: _Normal) -> _FactAttack:
        chances = np.array([facts[own].mean(axis=0) for own in members])
        share = facts.mean(axis=0)
        g = (X - whole.mean).T @ facts / max(len(X) - 1, 1)
        return cls(share, chances, g, whole)

    def left(self, truth: Matrix, likely: Matrix, Y: Matrix, a: float) -> Matrix:
        """What the chances of the cells leave of the facts, as a share of what lines leave, (f,)."""
        whole = self.whole
        weights = (whole.U / (whole.k + a)) @ (whole.U.T @ self.g)
        by_line = self.share + (Y - whole.mean) @ weights
        by_lines, by_cells = _squares(truth - by_line), _squares(truth - likely @ self.chances)
        return np.divide(by_cells, by_lines, out=np.ones_like(by_lines), where=by_lines > 0)


def _squares(errors: Matrix) -> Matrix:
    return np.asarray((errors**2).mean(axis=0))
