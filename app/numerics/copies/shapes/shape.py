"""Shape of the noise: a matrix that dominates the data's covariance in every direction [li2012, section 3.1].

Departs from [li2012, eq. 4], where noise has the covariance K of the data: an estimate of K is
singular or wrong where rows are few, cells are missing or columns nearly equal, and in such a
direction w the noise vanishes, so that w·Y = w·X. The shape S here is positive definite and
wᵀSw ≥ wᵀKw for every w. Then for any v the best linear attacker is left with v/(1+v) of the variance
of w·X at least, as the paper promises for K itself: K - K(K+vS)⁻¹K grows with S.

| here | meaning |
|---|---|
| K_I, K_C | covariance of all rows with gaps filled, and of the complete rows (`row_moments`) |
| M | Cov(X̃), K_I before its columns are stretched |
| O, K_O | a set of columns, and the covariance over the rows that have all of them (`patterns`) |
| λ | min(1, d/n_c): how far a covariance of n_c rows may be trusted |
| R | K_I + λ·diag(K_I) |
| A ∨ B | for A = L·Lᵀ and L⁻¹BL⁻ᵀ = U·diag(m)·Uᵀ the matrix L·U·diag(max(1, m))·UᵀLᵀ |
| S | R ∨ M ∨ K_C, and on every pair and every frequent pattern O of gaps S_OO ∨ K_O |

Cells may be missing for a reason, so that the rows that have O vary otherwise than the complete ones.
K_I alone bounds nothing there: stretched by column, it may vanish in a direction in which these rows
vary. M keeps at least n_O/n of their variance, for every O; the joins keep all of it, for every O looked at.

Sums go in the scale of the columns, so that columns of 10⁻¹² and 10¹² stand beside each other.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from app.numerics.arrays import FloatArray, IntArray, Places
from app.numerics.copies.shapes.gaps.patterns import Columns
from app.numerics.copies.shapes.row_moments import RowMoments

ROUNDING = 1e-11
"""Share of each variance that is added to a shape, for what rounding may have taken from it."""

MIXED = 1e-4
"""Share of a matrix that is added to a far smaller one before the two are joined."""


def covariance_shape(moments: RowMoments) -> FloatArray:
    """S of the rows, (d, d): it dominates K_I, M and K_C, and the K_O on their columns.

    Positive definite when every column has spread; a column without spread is 0, so that what is
    made of these rows alone can be joined to a shape that has some. Of fewer than two rows it is 0.
    """
    d = moments.columns
    found = np.zeros((d, d))
    K_I = moments.imputed_covariance()
    spread = np.flatnonzero(np.diag(K_I) > 0)
    if len(spread):
        trust = min(1.0, d / max(moments.complete_rows, 1))
        R = K_I + trust * np.diag(np.diag(K_I))
        among = np.ix_(spread, spread)
        if moments.complete_rows < moments.rows:
            R[among] = dominate(R[among], moments.filled_covariance()[among])
        found[among] = dominate(R[among], moments.complete_covariance()[among])
        _cover_patterns(found, moments)
        _cover_pairs(found, moments)
    return found


def _cover_patterns(S: FloatArray, moments: RowMoments) -> None:
    """Make S, in place, dominate K_O for every O that enough rows have."""
    for columns in moments.patterns.sets():
        rows = moments.having(columns)
        if rows.count[0, 0] >= rows_for_a_shape(len(columns)):
            _cover(S, columns, rows.covariance())


def _cover_pairs(S: FloatArray, moments: RowMoments) -> None:
    """The same for every two columns, over the rows that have both."""
    count = moments.present.count
    gappy = np.triu((count >= rows_for_a_shape(2)) & (count < moments.rows), 1)
    for j, k in np.argwhere(gappy).tolist():
        _cover(S, (j, k), moments.pair_covariance(j, k))


def _cover(S: FloatArray, columns: Columns, K: FloatArray) -> None:
    """Make S, in place, dominate K on these columns: S_OO ∨ K, as far as they have spread."""
    there = [place for place, column in enumerate(columns) if S[column, column] > 0]
    among = np.ix_(*(2 * [[columns[place] for place in there]]))
    K = K[np.ix_(there, there)]
    if not _dominates(S[among], K):
        S[among] = dominate(S[among], K)


def _dominates(A: FloatArray, B: FloatArray) -> bool:
    """Return whether A - B is positive definite; A is."""
    unit = np.sqrt(np.diag(A))
    try:
        np.linalg.cholesky(_scaled(A - B, unit))
    except np.linalg.LinAlgError:
        return False
    return True


def without_spread(moments: RowMoments) -> Places:
    """The places of columns for which no noise can be shaped: without two different values.

    A spread within the rounding of the column's mean is none.
    """
    means = np.nan_to_num(moments.present.means)
    rounding = np.finfo(np.float64).eps * np.abs(means)
    sd = np.sqrt(np.maximum(np.diag(moments.imputed_covariance()), 0.0))
    return np.flatnonzero(~(sd > rounding))


def dominate(A: FloatArray, B: FloatArray) -> FloatArray:
    """A ∨ B, (d, d): it dominates both, and is A where A dominates B.

    A is positive definite, B semidefinite. Written as A + L·U·diag(max(0, m - 1))·UᵀLᵀ, which
    cannot fall below A by rounding; `ROUNDING` makes up for the rest. Rounding is relative to the
    largest m: where that is beyond 1/`MIXED`, (A + MIXED·B) ∨ B is taken, larger by that share at
    most. ValueError when A is not positive definite.
    """
    m, directions = relative_spectrum(A, B)
    if len(m) and m[-1] > 1 / MIXED:
        A = A + MIXED * B
        m, directions = relative_spectrum(A, B)
    directions = directions * np.sqrt(np.maximum(m - 1.0, 0.0))
    found = A + directions @ directions.T
    found += ROUNDING * np.diag(np.diag(found))
    return np.asarray((found + found.T) / 2)


def shape_factor(S: FloatArray) -> FloatArray:
    """L, lower triangular, with L·Lᵀ = S, (d, d); ValueError when S is not positive definite."""
    if not np.isfinite(S).all() or not (np.diag(S) > 0).all():
        raise ValueError("a shape is positive definite and finite")
    unit = np.sqrt(np.diag(S))
    try:
        return np.ascontiguousarray(unit[:, None] * np.linalg.cholesky(_scaled(S, unit)))
    except np.linalg.LinAlgError:
        raise ValueError("a shape is positive definite and finite") from None


def at_sampling_precision(estimates: FloatArray, sizes: FloatArray, counts: IntArray) -> FloatArray:
    """Estimates from n values each, rounded to multiples of the power of two next above size/√(2(n-1)).

    That is the standard error of a standard deviation. To every digit, an estimate would tell whoever knows all of its
    values but one that one value.
    """
    step = sampling_steps(sizes, counts)
    return np.asarray(np.rint(estimates / step) * step)


def factor_at_sampling_precision(L: FloatArray, counts: IntArray) -> FloatArray:
    """L = B·D, B unit triangular and D diagonal, from n values in each row, both rounded at their precision.

    B_jk is a coefficient of regression, with a standard error of about (D_j/D_k)/√n; D_j is a standard deviation. L_jk
    itself would tell D_k more precisely than its rows do, wherever column j nearly follows from column k.
    """
    D = np.diag(L)
    B = at_sampling_precision(L / D, D[:, None] / D, counts[:, None])
    np.fill_diagonal(B, 1.0)
    return np.asarray(B * at_sampling_precision(D, D, counts))


def sampling_steps(sizes: FloatArray, counts: IntArray) -> FloatArray:
    """The power of two next above size/√(2(n-1)), n at least 2."""
    share, exponent = np.frexp(sizes / np.sqrt(2 * np.maximum(counts - 1, 1)))
    return np.asarray(np.ldexp(1.0, exponent - (share == 0.5)))


def relative_spectrum(A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
    """m, ascending, and P = L·U with A = P·Pᵀ and B = P·diag(m)·Pᵀ; (d,) and (d, d).

    A is positive definite (ValueError if not), B semidefinite.
    """
    L = shape_factor(A)
    unit = np.sqrt(np.diag(A))
    C = L / unit[:, None]
    inner = solve_triangular(C, solve_triangular(C, _scaled(B, unit), lower=True).T, lower=True)
    m, U = np.linalg.eigh((inner + inner.T) / 2)
    return m, L @ U


def rows_for_a_shape(d: int) -> int:
    """10·(d+1): rows that a part needs for a shape of its own.

    One made of a handful of rows would itself give them away.
    """
    return 10 * (d + 1)


def _scaled(matrix: FloatArray, unit: FloatArray) -> FloatArray:
    """The matrix with row and column j divided by unit_j."""
    return np.asarray(matrix / unit[:, None] / unit)
