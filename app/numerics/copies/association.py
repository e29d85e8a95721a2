"""Association of numbers and categorical records as one squared correlation R².

R² is the largest share of variance of any combination w·X of the numbers that a function of the record explains;
it is also the largest share of any function of the record that the numbers explain by lines. Functions of the record
are sums of effects of each column, by least squares and in sample, which errs on the safe side; and on what these
leave, means by cell of several columns together, less what chance explains:

    R² = λ_max((E + G)⁻¹(E + M)),     M = (B - k·W)/n,     W = (RᵀR - B)/(n - k),   B = Σ_cells r rᵀ/n_cell.

The cells are of the pair of columns that raises R² most, and of more columns while it rises. Cells are compared
only as long as there are ten rows to each, so that chance, of which W is an estimate, stays small.

| here | meaning |
|---|---|
| X, n_j | numbers, (n, d), less the column's mean, missing cells at 0; how many values column j has |
| Z | indicators of all categories of all categorical columns, (n, p), sparse |
| E | covariance of the fitted values ZĜ, (d, d) |
| R, r | X less its fitted values, missing cells at 0; its sum over a cell |
| G | covariance of R |
| k | cells, less those that effects of single columns could fit |

Cells that are missing tell nothing: each number is regressed over the rows that have it. Columns with the same
gaps share their equations. The normal equations ZᵀZ·b = ZᵀX are singular, as every row has one category of each
column, and p may be tens of thousands: conjugate gradients in the scale of the counts, for all d right sides at
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse

from app.numerics.arrays import Codes, Flags, FloatArray, IntArray, Places

Together = Any  # a full matrix or a sparse one, which has no type

ROWS_PER_CELL = 10

SEARCH_PRODUCTS = 2**30
"""Products summed in the search for pairs: seconds, however many columns there are."""

HARDLY = 1e-9
"""Of the variance of a column: directions with less are rounding."""

MOST_PAIRS = 2**20
"""Pairs of categories of two columns up to which they are counted in a table."""

FEW = 512
"""Categories of all columns up to which ZᵀZ is a full matrix."""

MOST_STEPS = 500
EXACT = 1e-20
"""Squared residual, as a share of the right side's, at which the equations are solved."""


def squared_canonical_correlation(numbers: FloatArray, codes: Codes, sizes: Sequence[int]) -> float:
    """R² of numbers (n, d), NaN where missing, and codes (n, c) below `sizes`, -1 a category more.

    0 without numbers or categories. It depends on the rows and not on their order, up to about fifty columns.
    """
    columns = np.ascontiguousarray(codes.T) + np.int32(1)
    widths = [size + 1 for size in sizes]
    X, present = _standardised(numbers)
    n, d = X.shape
    if not d or not widths:
        return 0.0
    fitted = _fitted(X, present, columns, widths)
    R = X - fitted
    R[~present] = 0.0
    del X  # its memory is used again below, as is that of the fitted values: new pages cost a tenth of all time
    fitted -= fitted.mean(axis=0)
    E = fitted.T @ fitted / n
    there = present.astype(np.float64)
    both = there.T @ there
    squares = np.multiply(R, R, out=fitted)
    G = _paired_covariance(R.T @ R, squares.T @ there, squares.sum(axis=0) / np.diag(both))
    chance = both / np.outer(np.diag(both), np.diag(both)) - 1 / n
    E -= sum(_effects(columns)) * chance * G
    values, vectors = np.linalg.eigh(E + G)
    unsure = 2 * np.sqrt(d * (1 / max(both.min(), 1.0) - 1 / n))
    whitening = vectors / np.sqrt(np.maximum(values, min(unsure, 1.0) + HARDLY))
    # A cell's sum over the rows that have the number stands for all its rows.
    R *= n / present.sum(axis=0)
    whitened = np.matmul(R, whitening, out=squares)
    search = _Search.of(whitening.T @ E @ whitening, whitened, columns, widths)
    return float(np.clip(search.most(), 0.0, 1.0))


def _standardised(numbers: FloatArray) -> tuple[FloatArray, Flags]:
    """X in units of the numbers' spread and where they are present; of the columns that have spread."""
    present = ~np.isnan(numbers)
    values = np.maximum(present.sum(axis=0), 1)
    X = np.where(present, numbers, 0.0)
    largest = np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))
    X /= np.maximum(largest, np.finfo(np.float64).tiny)
    X -= X.sum(axis=0) / values
    X[~present] = 0.0
    scale = np.sqrt((X**2).sum(axis=0) / values)
    spread = scale > np.finfo(np.float64).eps
    X, present = X[:, spread], present[:, spread]
    X /= scale[spread]
    return X, present


def _paired_covariance(
    products: FloatArray, squares: FloatArray, variances: FloatArray
) -> FloatArray:
    """(d, d): correlations over the rows that have both columns, in these variances (d,).

    Of XᵀX and of Σ X_j² over the rows that have column k, (d, d) both.
    """
    roots = np.sqrt(squares)  # of each first: squares of 10³⁰⁰ have no product
    spread = roots * roots.T
    correlation = np.divide(products, spread, out=np.zeros_like(spread), where=spread > 0)
    found = np.clip(correlation, -1.0, 1.0) * np.outer(*2 * [np.sqrt(variances)])
    np.fill_diagonal(found, variances)
    return np.asarray(found)


def _effects(columns: Codes) -> list[int]:
    """Return how many categories of each column a regression can choose freely: one less than occur."""
    return [int(np.count_nonzero(np.bincount(own))) - 1 for own in columns]


@dataclass(frozen=True)
class _Search:
    """The search for columns that tell jointly what they do not tell one by one.

    where:
        explained  E, in coordinates in which E + G is the identity, (r, r)
        R          in the same coordinates, (n, r)
        columns    (c, n) codes below `widths`
        effects    (c,) how many of each column's can be chosen freely
        total      RᵀR
    """

    explained: FloatArray
    R: FloatArray
    columns: Codes
    widths: Sequence[int]
    effects: Sequence[int]
    total: FloatArray

    @classmethod
    def of(
        cls, explained: FloatArray, R: FloatArray, columns: Codes, widths: Sequence[int]
    ) -> Self:
        """The search in all these rows."""
        return cls(explained, R, columns, widths, _effects(columns), R.T @ R)

    def most(self) -> float:
        """R² of the best columns found."""
        c = len(self.widths)
        least = self.with_cells_of(())
        rows = SEARCH_PRODUCTS // (max(c * (c - 1) // 2, 1) * self.R.shape[1])
        some = self
        if rows < len(self.R):
            some = _Search.of(self.explained, self.R[:rows], self.columns[:, :rows], self.widths)
        best, chosen = least, tuple[int, ...]()
        further: list[tuple[int, ...]] = list(combinations(range(c), 2))
        while further:
            more, longer = max((some.with_cells_of(each), each) for each in further)
            if more <= best:
                break
            best, chosen = more, longer
            further = [(*chosen, j) for j in range(c) if j not in chosen]
        return max(least, self.with_cells_of(chosen))

    def with_cells_of(self, chosen: tuple[int, ...]) -> float:
        """λ_max of E + M for the cells of these columns; of E where they have too many."""
        n, r = self.R.shape
        cells, count = _cells(self.columns[list(chosen)], [self.widths[j] for j in chosen])
        occurs = count > 0
        k = np.count_nonzero(occurs)
        free = k - 1 - sum(self.effects[j] for j in chosen)
        M = np.zeros((r, r))
        if free > 0 and n >= ROWS_PER_CELL * k:
            place = sparse.csr_matrix((np.ones(n), cells, np.arange(n + 1)), shape=(n, len(count)))
            means = (place.T @ self.R)[occurs] / np.sqrt(count[occurs])[:, None]
            B = means.T @ means
            W = (self.total - B) / (n - k)
            M = (B - free * W) / n
        return float(np.linalg.eigvalsh(self.explained + M)[-1])


def _cells(columns: Codes, widths: Sequence[int]) -> tuple[Places, IntArray]:
    """Cell of each row, and rows per cell; some cells may be empty."""
    n = columns.shape[1]
    cells, size = np.zeros(n, dtype=np.intp), 1
    for own, width in zip(columns, widths, strict=True):
        cells = cells * width + own
        size *= width
        if size > MOST_PAIRS:
            found, cells = np.unique(cells, return_inverse=True)
            size = len(found)
        elif size > n:
            number = np.cumsum(np.bincount(cells, minlength=size) > 0) - 1
            cells, size = number[cells], int(number[-1]) + 1
    return cells, np.bincount(cells, minlength=size)


def _fitted(X: FloatArray, present: Flags, columns: Codes, widths: Sequence[int]) -> FloatArray:
    """ZĜ, (n, d): each number's regression over the rows that have it, for all rows."""
    Z = indicators(columns.T, widths)
    sums = Z.T @ X
    unit = np.sqrt((X**2).sum(axis=0))
    whole = _together(columns, widths)
    coefficients = np.empty_like(sums)
    for own in _same_gaps(present):
        together = _together_in(present[:, own[0]], whole, columns, widths)
        coefficients[:, own] = _regression(together, sums[:, own], unit[own])
    return np.asarray(Z @ coefficients)


def _same_gaps(present: Flags) -> list[list[int]]:
    """The places of the columns, those together that have their values in the same rows."""
    groups: dict[bytes, list[int]] = {}
    for place, rows in enumerate(present.T):
        groups.setdefault(np.packbits(rows).tobytes(), []).append(place)
    return list(groups.values())


def _together_in(rows: Flags, whole: Together, columns: Codes, sizes: Sequence[int]) -> Together:
    """ZᵀZ of some rows; counted are those in or those out, whichever are fewer."""
    if rows.all():
        return whole
    if 2 * np.count_nonzero(rows) < len(rows):
        return _together(columns[:, rows], sizes)
    return whole - _together(columns.take(np.flatnonzero(~rows), axis=1), sizes)


def indicators(codes: Codes, sizes: Sequence[int]) -> sparse.csr_matrix:
    """Z of codes (n, c) below `sizes`."""
    n, c = codes.shape
    firsts = np.cumsum(
        [0, *sizes], dtype=np.int32
    )  # as wide as codes: wider ones are checked and cut again
    places = (codes + firsts[:-1]).ravel()
    row_starts = np.arange(n + 1, dtype=np.int32) * np.int32(c)
    return sparse.csr_matrix((np.ones(n * c), places, row_starts), shape=(n, int(firsts[-1])))


def _together(columns: Codes, sizes: Sequence[int]) -> Together:
    """ZᵀZ, (p, p): how often two categories occur together.

    Counted by pairs of columns, in a twentieth of the time of the sparse product.
    """
    firsts = np.cumsum([0, *sizes])
    if firsts[-1] <= FEW:
        return _together_in_full(columns, sizes, firsts)
    found, across, counts = [], [], []
    for one, size in enumerate(sizes):
        for other, width in enumerate(sizes[: one + 1]):
            first, second, count = pair_counts(columns[one], columns[other], size, width)
            found.append(firsts[one] + first)
            across.append(firsts[other] + second)
            counts.append(count)
            if one != other:
                found.append(across[-1])
                across.append(found[-2])
                counts.append(count)
    places = (np.concatenate(found), np.concatenate(across))
    shape = (firsts[-1], firsts[-1])
    return sparse.csr_matrix((np.concatenate(counts).astype(np.float64), places), shape=shape)


def pair_counts(first: Codes, second: Codes, size: int, width: int) -> IntArray:
    """(3, e): the pairs of codes below `size` and `width` that occur, and how many rows have them."""
    pairs = first.astype(np.int64) * width + second
    if size * width <= MOST_PAIRS:
        count = np.bincount(pairs, minlength=size * width)
        found = np.flatnonzero(count)
        count = count[found]
    else:
        found, count = np.unique(pairs, return_counts=True)
    return np.stack([*np.divmod(found, max(width, 1)), count])


def _together_in_full(columns: Codes, sizes: Sequence[int], firsts: Places) -> FloatArray:
    """The same where it is a full matrix: of any two columns a block, which the core has at hand."""
    found = np.zeros((firsts[-1], firsts[-1]))
    own = [slice(*ends) for ends in pairwise(firsts.tolist())]
    wide = columns.astype(np.intp)
    for one, size in enumerate(sizes):
        np.fill_diagonal(found[own[one], own[one]], np.bincount(wide[one], minlength=size))
        for other, width in enumerate(sizes[:one]):
            pairs = wide[one] * width + wide[other]
            count = np.bincount(pairs, minlength=size * width).reshape(size, width)
            found[own[one], own[other]] = count
            found[own[other], own[one]] = count.T
    return found


def _regression(together: Together, sums: FloatArray, unit: FloatArray) -> FloatArray:
    """b of the regression of X on Z, (p, d), from ZᵀZ, ZᵀX and the root of the diagonal of XᵀX."""
    root = np.sqrt(np.maximum(together.diagonal(), 1.0))
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
    return np.asarray(solution * unit / root[:, None])
