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
| X, Y | so taken, the rows side by side and without and with noise, (d, n): sums over few numbers of many rows are then long |
| P_c | (M_c + a)⁻¹, by which a cell sees a noisy row; its best line is Y - a·P_c(Y - μ_c) |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from app.numerics.arrays import FloatArray, Places
from app.numerics.copies.shapes.shape import shape_factor

MOST_ROWS = 2_048
"""Rows for which noise is drawn. Errors are compared with those of lines under the same noise."""

ROOM = 2**20
"""Products of two numbers, of some rows, that are held at a time."""

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

    numbers: FloatArray
    left: FloatArray
    cells: Places
    facts: FloatArray


def shares_of_lines(
    rows: CellRows, S: FloatArray, variances: Sequence[float]
) -> tuple[FloatArray, FloatArray]:
    """What it is left with at each variance, as a share of what lines are left with, 1 at most.

    Of the numbers, (g, d), and of the facts, (g, f).
    """
    L = shape_factor(S)
    # Few bits are sorted by counting.
    order = np.argsort(rows.cells.astype(np.uint16), kind="stable")
    counts = np.bincount(rows.cells)
    starts = np.cumsum(counts) - counts
    X = _round(L, rows.numbers - rows.numbers.mean(axis=0))
    by_cell, left_by_cell = X.take(order, axis=1), _round(L, rows.left).take(order, axis=1)
    nowhere = np.zeros(1, dtype=np.intp)
    whole, left_whole = _Normals.of(by_cell, nowhere), _Normals.of(left_by_cell, nowhere)
    cells, left_cells = _Normals.of(by_cell, starts), _Normals.of(left_by_cell, starts)
    pi = counts / len(order)
    seen = slice(0, MOST_ROWS)
    facts_by_cell = np.split(rows.facts.take(order, axis=0), starts[1:])
    chances = np.array([own.mean(axis=0) for own in facts_by_cell])
    attack = _FactAttack.of(rows.facts, X, chances, rows.facts[seen])
    X = np.ascontiguousarray(X[:, seen])
    noise = np.random.default_rng(SEED).normal(size=X.shape[::-1]).T
    numbers, facts = [], []
    for a in variances:
        Y = X + np.sqrt(a) * noise
        guess, likely = _guess(cells, pi, Y, a)
        by_line = whole.lines(Y, a)
        found = _squares(L @ (X - guess)) / _squares(L @ (X - by_line))
        replaced = whole.left(L, a)[0]
        attacked = a * replaced * found + pi @ left_cells.left(L, a)
        numbers.append(attacked / (a * replaced + left_whole.left(L, a)[0]))
        facts.append(attack.left(likely, Y, whole, a))
    return np.minimum(numbers, 1.0), np.minimum(facts, 1.0)


def _round(L: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows (n, d) side by side, (d, n), where the noise is round."""
    return np.ascontiguousarray(solve_triangular(L, rows.T, lower=True))


@dataclass(frozen=True)
class _Normals:
    """Means (c, d) and covariances U·diag(k)·Uᵀ of runs of rows, k (c, d) and U (c, d, d)."""

    means: FloatArray
    k: FloatArray
    U: FloatArray

    @classmethod
    def of(cls, X: FloatArray, starts: Places) -> _Normals:
        """Of the runs of rows (d, n) that begin there."""
        means, covariances = [], []
        for own in np.split(X, starts[1:], axis=1):
            means.append(own.mean(axis=1))
            centred = own - means[-1][:, None]
            covariances.append(centred @ centred.T / max(own.shape[1] - 1, 1))
        k, U = np.linalg.eigh(covariances)
        return cls(np.array(means), np.maximum(k, 0.0), U)

    def lines(self, Y: FloatArray, a: float) -> FloatArray:
        """The best line of the first, (d, n)."""
        (mean, *_), (k, *_), (U, *_) = self.means, self.k, self.U
        shrink = (U * (k / (k + a))) @ U.T
        return np.asarray(shrink @ Y + (mean - shrink @ mean)[:, None])

    def left(self, L: FloatArray, a: float) -> FloatArray:
        """What the best line of each leaves of each number, in its own units, (c, d)."""
        by_axis = (a * self.k / (self.k + a))[:, :, None]
        return np.asarray(((L @ self.U) ** 2 @ by_axis)[:, :, 0])


def _guess(
    cells: _Normals, pi: FloatArray, Y: FloatArray, a: float
) -> tuple[FloatArray, FloatArray]:
    """The weighed guess, (d, n), and how likely each cell is, (c, n).

    All cells in one product: a log density is a sum over the products of any two numbers of a row, and so
    is a weighed guess over those of a weighed P and a number. Densities are of doubles, as what is far away
    cancels in them; what is weighed by them is exact enough, to 10⁻⁷ of a row, in half of the bytes.
    """
    (d, n), c = Y.shape, len(pi)
    by = cells.k + a
    P = (cells.U / by[:, None]) @ cells.U.transpose(0, 2, 1)
    P_means = (P @ cells.means[:, :, None])[:, :, 0]
    constant = np.log(pi) - 0.5 * (np.log(by).sum(axis=1) + (P_means * cells.means).sum(axis=1))
    one, other = np.triu_indices(d)
    quadratic = P[:, one, other] * np.where(one == other, -0.5, -1.0)
    weighing = P.reshape(c, d * d).T.astype(np.float32)
    guess, likely = np.empty((d, n)), np.empty((c, n), dtype=np.float32)
    piece = max(1, ROOM // d**2)
    for some in (slice(start, start + piece) for start in range(0, n, piece)):
        y, here = Y[:, some], likely[:, some]
        log_density = quadratic @ (y[one] * y[other]) + P_means @ y + constant[:, None]
        np.subtract(log_density, log_density.max(axis=0), out=here)
        np.exp(here, out=here)
        here /= here.sum(axis=0)
        seen = (weighing @ here).reshape(d, d, -1)
        seen *= y.astype(np.float32)
        guess[:, some] = y - a * (seen.sum(axis=1) - P_means.T @ here)
    return guess, likely.astype(np.float64)


@dataclass(frozen=True)
class _FactAttack:
    """What is known of the facts: their shares (f,), chances in each cell (c, f) and covariances with numbers (d, f).

    And the truth (·, f) that it is judged by, with the sums of its squares (f,).
    """

    share: FloatArray
    chances: FloatArray
    g: FloatArray
    truth: FloatArray
    squares: FloatArray

    @classmethod
    def of(
        cls, facts: FloatArray, X: FloatArray, chances: FloatArray, truth: FloatArray
    ) -> _FactAttack:
        """By rows (d, n); `truth` (·, f) is what it is judged by."""
        share = facts.mean(axis=0)
        centred = X - X.mean(axis=1)[:, None]
        g = centred @ facts / max(X.shape[1] - 1, 1)
        return cls(share, chances, g, truth, (truth**2).sum(axis=0))

    def left(self, likely: FloatArray, Y: FloatArray, whole: _Normals, a: float) -> FloatArray:
        """What the chances of the cells leave of the facts, as a share of what lines leave, (f,)."""
        (U,), (k,) = whole.U, whole.k
        weights = (U / (k + a)) @ (U.T @ self.g)
        line = np.vstack([self.share - whole.means @ weights, weights])
        by_lines = self._squares(np.vstack([np.ones(Y.shape[1]), Y]), line)
        by_cells = self._squares(likely, self.chances)
        return np.divide(by_cells, by_lines, out=np.ones_like(by_lines), where=by_lines > 0)

    def _squares(self, known: FloatArray, weights: FloatArray) -> FloatArray:
        """Mean squares of truth - knownᵀ·weights, (f,), for weights (m, f) of what is known, (m, n).

        Multiplied out, so that there is no error of each fact in each row.
        """
        across = (weights * (known @ self.truth)).sum(axis=0)
        of_guess = (weights * (known @ known.T @ weights)).sum(axis=0)
        return np.asarray(np.maximum(self.squares - 2 * across + of_guess, 0.0) / len(self.truth))


def _squares(errors: FloatArray) -> FloatArray:
    """Mean squares of errors (d, n)."""
    return np.asarray((errors**2).mean(axis=1))
