"""How numbers depend on categories: main effects, by least squares, however many categories there are.

| here | meaning |
|---|---|
| X | numbers, (n, d), less the column's mean, missing cells at 0 |
| Z | indicators of all categories of all categorical columns, (n, p), sparse |
| R | what is left of X when its regression on Z is taken away, missing cells at 0 |
| n_j, D | how many values column j has; √(n/n_j), as in K_I of `row_moments` |
| K, K_{X|C} | D·Cov(X)·D and D·Cov(R)·D |

Cells that are missing tell nothing and promise nothing: each number is regressed over the rows that have
it. Over all rows, gaps filled with the mean, four values of five missing, a category would seem to explain a fifth of
what it explains. Columns with the same gaps share their equations.

The normal equations ZᵀZ·b = ZᵀX are singular, as every row has one category of each column, and p may
be tens of thousands: conjugate gradients in the scale of the counts, for all d right sides at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from app.numerics.arrays import Codes, Flags, FloatArray, Places
from app.numerics.copies.shapes.row_moments import paired_covariance, told_where_present, towards

Together = Any  # a full matrix or a sparse one, which has no type

PIECE = 8_192
"""Rows that are added up together: what they touch stays next to the core."""

MOST_PAIRS = 2**20
"""Pairs of categories of two columns up to which they are counted in a table."""

FEW = 512
"""Categories of all columns up to which ZᵀZ is a full matrix."""

MOST_STEPS = 500
EXACT = 1e-20
"""Squared residual, as a share of the right side's, at which the equations are solved."""


@dataclass(frozen=True)
class Association:
    """What links numbers and categories in n rows.

    where:
        values       (d,), n_j
        covariance   (d, d), K
        paired       (d, d), the same from the rows that have both columns (`gaps`)
        given        (d, d), K_{X|C}, as far towards the rows that have both as it stays semidefinite
        indicators   (d, p), of the table's own columns: covariances of the numbers with the categories' indicators: their
                     correlation over the rows that have the number, in the spread of all rows
        shares       (p,), how often each of their categories occurs
        effects      (d,), how many categories the regression could choose freely
        coefficients of the regression, of all columns, (·, d)
    """

    rows: int
    values: FloatArray
    covariance: FloatArray
    paired: FloatArray
    given: FloatArray
    indicators: FloatArray
    shares: FloatArray
    effects: FloatArray
    coefficients: FloatArray

    @property
    def free(self) -> FloatArray:
        """(d,), values beyond the effects that were fitted to them."""
        return np.asarray(self.values - 1 - self.effects)

    @property
    def enough(self) -> Flags:
        """(d,), whether there are twice as many values as effects."""
        return np.asarray(self.free >= np.maximum(self.effects, 1))

    @property
    def variances(self) -> FloatArray:
        """(p,), of the indicators."""
        return np.asarray(self.shares * (1 - self.shares) * self.rows / max(self.rows - 1, 1))

    @property
    def explained(self) -> FloatArray:
        """(d,), adjusted R² of each number given the categories.

        0 where there are not at least twice as many values as effects: too few to tell a number that
        categories determine from one that they merely fit.
        """
        K, left = np.diag(self.covariance), np.diag(self.given)
        unexplained = np.divide(left, K, out=np.ones_like(K), where=K > 0)
        adjusted = 1.0 - unexplained * (self.values - 1) / np.maximum(self.free, 1)
        return np.asarray(np.where(self.enough, adjusted, 0.0))


def association(
    numbers: FloatArray, codes: Codes, sizes: Sequence[int], columns: int | None = None
) -> Association:
    """The association of numbers (n, d), NaN where missing, with codes (n, c) below `sizes`.

    Of more columns than the table has, the others take part in the regression, and in nothing else.
    """
    n, d = numbers.shape
    p = sum(sizes[:columns])
    present = ~np.isnan(numbers)
    values = present.sum(axis=0).astype(np.float64)
    gaps = not present.all()
    sums, total, squares = np.zeros((sum(sizes), d)), np.zeros((d, d)), np.zeros((d, d))
    means = _means(numbers)
    for X, there, Z in _pieces(numbers, means, codes, sizes):
        sums += Z.T @ X
        total += X.T @ X
        if gaps:
            squares += (X**2).T @ there
    freedom = max(n - 1, 1)
    unit = np.sqrt(np.diag(total))
    whole = _together(codes, sizes)
    counts, effects = np.empty((len(sums), d)), np.empty(d)
    coefficients, explained = np.empty_like(sums), np.zeros((d, d))
    for own in _same_gaps(present):
        rows = present[:, own[0]]
        together = _together_in(rows, whole, codes, sizes)
        count = together.diagonal()
        counts[:, own] = count[:, None]
        effects[own] = _effects(count, sizes)
        coefficients[:, own], explained[np.ix_(own, own)] = _regression(
            together, count, sums[:, own], unit[own]
        )
    shares = whole.diagonal()[:p] / max(n, 1)
    sums, counts = sums[:p], counts[:p]
    if gaps:
        D = np.sqrt(n / np.maximum(values, 1.0))
        K = total * np.outer(D, D) / freedom
        paired = paired_covariance(total, squares, np.diag(K))
        left, squares = np.zeros((d, d)), np.zeros((d, d))
        for X, there, Z in _pieces(numbers, means, codes, sizes):
            R = (X - Z @ coefficients) * there
            left += R.T @ R
            squares += (R**2).T @ there
        given = left * np.outer(D, D) / freedom
        given = towards(given, paired_covariance(left, squares, np.diag(given)))
        told = told_where_present(sums, counts, unit, values)
        told = told.T * np.sqrt(np.outer(np.diag(K), shares * (1 - shares) * n / freedom))
    else:
        K = paired = total / freedom
        given = _semidefinite(total - explained, unit) / freedom
        told = sums.T / freedom
    return Association(
        rows=n,
        values=values,
        covariance=K,
        paired=paired,
        given=given,
        indicators=told,
        shares=shares,
        effects=effects,
        coefficients=coefficients,
    )


def _pieces(
    numbers: FloatArray, means: FloatArray, codes: Codes, sizes: Sequence[int]
) -> Iterator[tuple[FloatArray, FloatArray, sparse.csr_matrix]]:
    """X, 1 where a cell is there and 0 where not, and Z, of some rows after others.

    Sums over all rows at once would take longer to ask for memory than to add up.
    """
    for start in range(0, len(numbers), PIECE):
        rows = slice(start, start + PIECE)
        X = np.ascontiguousarray(numbers[rows])
        there = ~np.isnan(X)
        X = np.where(there, X - means, 0.0)
        yield X, there.astype(np.float64), indicators(codes[rows], sizes)


def _means(numbers: FloatArray) -> FloatArray:
    """Of the values of each column, (d,); 0 of none."""
    sums = [np.where(np.isnan(own), 0.0, own).sum() for own in numbers.T]
    values = len(numbers) - np.isnan(numbers).sum(axis=0)
    return np.asarray(np.array(sums, dtype=np.float64) / np.maximum(values, 1))


def centred(numbers: FloatArray) -> FloatArray:
    """X of numbers, NaN where missing."""
    return np.asarray(np.where(np.isnan(numbers), 0.0, numbers - _means(numbers)))


def _same_gaps(present: Flags) -> list[list[int]]:
    """The places of the columns, those together that have their values in the same rows."""
    groups: dict[bytes, list[int]] = {}
    for place, rows in enumerate(present.T):
        groups.setdefault(np.packbits(rows).tobytes(), []).append(place)
    return list(groups.values())


def _together_in(rows: Flags, whole: Together, codes: Codes, sizes: Sequence[int]) -> Together:
    """ZᵀZ of some rows; counted are those in or those out, whichever are fewer."""
    if rows.all():
        return whole
    if 2 * np.count_nonzero(rows) < len(rows):
        return _together(codes[rows], sizes)
    return whole - _together(codes[~rows], sizes)


def _effects(counts: FloatArray, sizes: Sequence[int]) -> int:
    """How many categories can be chosen freely: one less than each column has."""
    each = np.split(counts, np.cumsum(sizes)[:-1])
    return sum(max(int(np.count_nonzero(own)) - 1, 0) for own in each)


def indicators(codes: Codes, sizes: Sequence[int]) -> sparse.csr_matrix:
    """Z of codes (n, c) below `sizes`."""
    n, c = codes.shape
    firsts = np.cumsum(
        [0, *sizes], dtype=np.int32
    )  # as wide as codes: wider ones are checked and cut again
    places = (codes + firsts[:-1]).ravel()
    row_starts = np.arange(n + 1, dtype=np.int32) * np.int32(c)
    return sparse.csr_matrix((np.ones(n * c), places, row_starts), shape=(n, int(firsts[-1])))


def _together(codes: Codes, sizes: Sequence[int]) -> Together:
    """ZᵀZ, (p, p): how often two categories occur together.

    Counted by pairs of columns, in a twentieth of the time of the sparse product.
    """
    firsts = np.cumsum([0, *sizes])
    if firsts[-1] <= FEW:
        return _together_in_full(codes, sizes, firsts)
    rows, columns, counts = [], [], []
    for one, size in enumerate(sizes):
        for other, width in enumerate(sizes[: one + 1]):
            pairs = codes[:, one].astype(np.int64) * width + codes[:, other]
            if size * width <= MOST_PAIRS:
                count = np.bincount(pairs, minlength=size * width)
                found = np.flatnonzero(count)
                count = count[found]
            else:
                found, count = np.unique(pairs, return_counts=True)
            rows.append(firsts[one] + found // width)
            columns.append(firsts[other] + found % width)
            counts.append(count)
            if one != other:
                rows.append(columns[-1])
                columns.append(rows[-2])
                counts.append(count)
    places = (np.concatenate(rows), np.concatenate(columns))
    shape = (firsts[-1], firsts[-1])
    return sparse.csr_matrix((np.concatenate(counts).astype(np.float64), places), shape=shape)


def _together_in_full(codes: Codes, sizes: Sequence[int], firsts: Places) -> FloatArray:
    """The same where it is a full matrix: of any two columns a block, which the core has at hand."""
    found = np.zeros((firsts[-1], firsts[-1]))
    own = [slice(*ends) for ends in pairwise(firsts.tolist())]
    columns = codes.T.astype(np.intp)
    for one, size in enumerate(sizes):
        np.fill_diagonal(found[own[one], own[one]], np.bincount(columns[one], minlength=size))
        for other, width in enumerate(sizes[:one]):
            pairs = columns[one] * width + columns[other]
            count = np.bincount(pairs, minlength=size * width).reshape(size, width)
            found[own[one], own[other]] = count
            found[own[other], own[one]] = count.T
    return found


def _regression(
    together: Together, counts: FloatArray, sums: FloatArray, unit: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """b of the regression of X on Z, (p, d), and what it explains of XᵀX, bᵀZᵀX, (d, d)."""
    root = np.sqrt(np.maximum(counts, 1.0))
    if isinstance(together, np.ndarray):
        gram: Together = together / np.outer(root, root)
    else:
        gram = together.copy()
        gram.data /= np.repeat(root, np.diff(gram.indptr)) * root[gram.indices]
    right = sums / root[:, None] / np.where(unit > 0, unit, 1.0)
    solution = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    length = (residual**2).sum(axis=0)
    enough = EXACT * length
    for _ in range(MOST_STEPS):
        if (length <= enough).all():
            break
        ahead = gram @ direction
        curvature = (direction * ahead).sum(axis=0)
        step = np.divide(length, curvature, out=np.zeros_like(length), where=curvature > 0)
        solution += step * direction
        residual -= step * ahead
        shorter = (residual**2).sum(axis=0)
        turn = np.divide(shorter, length, out=np.zeros_like(length), where=length > 0)
        direction = residual + turn * direction
        length = shorter
    explained = (solution.T @ right) * np.outer(unit, unit)
    return solution * unit / root[:, None], np.asarray((explained + explained.T) / 2)


def _semidefinite(matrix: FloatArray, unit: FloatArray) -> FloatArray:
    """The matrix without the negative eigenvalues that rounding left it.

    In units of the columns before anything was explained, which rounding is relative to: in units of
    what is left, the rounding of a determined column would be as large as what is left of others.
    """
    unit = np.where(unit > 0, unit, 1.0)
    values, vectors = np.linalg.eigh(matrix / np.outer(unit, unit))
    if not len(values) or values[0] >= 0:
        return matrix
    root = vectors * np.sqrt(np.maximum(values, 0.0)) * unit[:, None]
    return np.asarray(root @ root.T)
