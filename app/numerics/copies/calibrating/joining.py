"""Categorical columns that tell of numbers together what they do not tell apart, joined to columns of their own.

Main effects miss them: where a number is large if two categories are equal, each of the two tells nothing of it,
and who knows the record knows the number. Looked at are all pairs of columns, and all columns together.

| here | meaning |
|---|---|
| R | what the main effects leave of the numbers, (n, d), missing cells at 0 |
| s_c, s'_c | Σ R of a number over the rows of cell c of the columns, in one half of the rows and in the other |
| q_c, q'_c | Σ R² likewise |
| n_c | rows of the cell |
| T | Σ_c s_c·s'_c/n_c, a quarter of what the cells explain of Σ R²; 0 in the mean where they explain nothing |

Chance alone makes T larger than √(2Vx) + 2bx less often than e^-x, where V = Σ_c q_c·q'_c/n_c² is its variance and
b the root of the largest term of V.

Categories are looked at that so many rows can judge: where there are too many, the rare ones count as one. What these
tell is looked for in pairs: no mean of a category of three rows can be trusted, but two rows of one category are alike
where it tells of a number, and of thousands of rare categories there are many such pairs.

| here | meaning |
|---|---|
| t | Σ_c Σ R_i·R_k/n_c over the pairs i ≠ k of rows of each cell |
| N | the same of 1 where there are values; t/N is the mean square of what the cells have in common, 0 in the mean where that is nothing |
| v | 2·Σ_c Σ R_i²·R_k²/n_c² likewise: the variance of t where they have nothing in common |
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy import sparse

from app.numerics.arrays import Codes, Flags, FloatArray, IntArray, Places

LEAST = 16
"""Rows of a category below which an outlier among them would seem to be told by it."""


def judged_categories(codes: Codes, sizes: Sequence[int]) -> tuple[Codes, list[int]]:
    """Codes (n, c) below `sizes` and their sizes, with at most (n-1)/2 effects.

    All of them where there are no more; otherwise the frequent ones, so that a column of very many values does not
    keep others from being judged.
    """
    counts = _counts(codes, sizes)
    effects = sum(max(int(np.count_nonzero(own)) - 1, 0) for own in counts)
    if 2 * effects <= len(codes) - 1:
        return codes, list(sizes)
    return frequent_categories(codes, sizes)


def frequent_categories(codes: Codes, sizes: Sequence[int]) -> tuple[Codes, list[int]]:
    """The n/4 most frequent categories of all columns, as far as `LEAST` rows have them; of each column the others are one."""
    every = np.concatenate([np.empty(0, dtype=np.int64), *_counts(codes, sizes)])
    remains = np.zeros(len(every), dtype=bool)
    remains[np.argsort(-every, kind="stable")[: len(codes) // 4]] = True
    remains &= every >= LEAST
    found = np.empty_like(codes)
    fewer = []
    for place, own in enumerate(np.split(remains, np.cumsum(sizes)[:-1])[: len(sizes)]):
        places = np.where(own, np.cumsum(own) - 1, own.sum()).astype(np.int32)
        found[:, place] = places[codes[:, place]]
        fewer.append(int(own.sum()) + 1)
    return found, fewer


def _counts(codes: Codes, sizes: Sequence[int]) -> list[IntArray]:
    return [
        np.bincount(codes[:, place], minlength=size).astype(np.int64)
        for place, size in enumerate(sizes)
    ]


Columns = tuple[int, ...]

SURE = 20.0
"""x of the bound above."""

TELLING = 0.01
"""Share of a number's variance below which what columns tell together costs less of the promise than is measured."""

CLEARLY = 0.9
"""All columns, which have many cells, are joined where no pair tells so much of what they tell."""

MOST_JOINED = 4

WORK = 2**23
"""Sums that are added up, at most, but for `FEWEST` rows of each set of columns."""

MOST_ROWS = 8_192
FEWEST = 2_048


def rows_looked_at(c: int, d: int) -> int:
    """How many rows tell which of c columns are to be joined for d numbers."""
    return int(np.clip(WORK // max(c * (c + 1) * d, 1), FEWEST, MOST_ROWS))


def telling_together(R: FloatArray, variances: FloatArray, codes: Codes) -> list[Columns]:
    """The columns of codes (n, c) that tell more of a number together, the most telling first.

    R is of numbers with these variances (d,).
    """
    c = codes.shape[1]
    sets: list[Columns] = list(combinations(range(c), 2))
    if c > 2:
        sets.append(tuple(range(c)))
    unit = np.sqrt(variances)
    left = R / np.where(unit > 0, unit, 1.0)
    cells = {columns: _cells(codes, columns) for columns in sets}
    found: list[Columns] = []
    while cells and len(found) < MOST_JOINED:
        told = {
            columns: told_together(left, own) * (1.0 if len(columns) == 2 else CLEARLY)
            for columns, own in cells.items()
        }
        best = max(told, key=lambda columns: told[columns])
        if told[best] < TELLING:
            break
        found.append(best)
        left = left - _means(left, cells.pop(best))
    return found


def joined_columns(codes: Codes, sets: Sequence[Columns], most: float) -> list[Codes]:
    """For each set of columns of codes (n, c) one that joins them, (n,): rows of rare cells are one category.

    With `most` categories in all; sets that would have more are left out.
    """
    found = []
    for columns in sets:
        joined = _frequent(_cells(codes, columns))
        if (categories := int(joined.max()) + 1) <= most:
            most -= categories
            found.append(joined)
    return found


def told_together(R: FloatArray, cells: Places) -> float:
    """The largest share of a number's variance that the cells (n,) surely explain of R (n, d), in units of their spread.

    0 where it is below `TELLING`: whether such a share is sure is not asked.
    """
    n = len(R)
    values = np.ones(n) @ (R != 0)
    if n < 2 or not values.any():
        return 0.0
    m = int(cells.max()) + 1
    halves = cells + m * (np.arange(n) % 2)
    rows = np.maximum(np.bincount(cells, minlength=m), 1)
    T = _products(R, halves, m).T @ (1 / rows)
    share = 4 * T * n / np.maximum(values, 1) ** 2
    asked = share >= TELLING
    if not asked.any():
        return 0.0
    terms = _products(R[:, asked] ** 2, halves, m) / rows[:, None] ** 2
    V, b = terms.sum(axis=0), np.sqrt(terms.max(axis=0))
    return float(share[asked][np.sqrt(2 * V * SURE) + 2 * b * SURE < T[asked]].max(initial=0.0))


SURE_OF_PAIRS = 4.0
"""√v by which t may exceed its mean: so much is taken from what pairs seem to tell."""

MOST_TOLD = 0.99


def told_by_pairs(R: FloatArray, present: Flags, codes: Codes) -> FloatArray:
    """The share of what is left of each number that the categories of a column surely tell, of the column that tells most, (d,).

    R is (n, d), 0 where not `present`; codes are (n, c).
    """
    told = np.zeros(R.shape[1])
    for column in codes.T:
        share, error = shares_of_pairs(R, present, column)
        told = np.maximum(told, np.clip(share - SURE_OF_PAIRS * error, 0.0, MOST_TOLD))
    return told


def shares_of_pairs(R: FloatArray, present: Flags, cells: Codes) -> tuple[FloatArray, FloatArray]:
    """t/N and √v/N over the mean square of R, (d,) each: in the mean what the cells (n,) tell, however few rows each has."""
    d = R.shape[1]
    places = np.unique(cells, return_inverse=True)[1]
    m = int(places.max(initial=-1)) + 1
    rows = np.maximum(np.bincount(places, minlength=m), 1)[:, None]
    there = present.astype(np.float64)
    largest = np.abs(R).max(axis=0, initial=0.0)
    R = R / np.where(largest > 0, largest, 1.0)  # fourth powers of 10¹⁰⁰ are beyond the doubles
    values, sums, squares = (_sums(own, places, m) for own in (there, R, R**2))
    N = ((values**2 - values) / rows).sum(axis=0)
    t = ((sums**2 - squares) / rows).sum(axis=0)
    v = 2 * ((squares**2 - _sums(R**4, places, m)) / rows**2).sum(axis=0)
    scale = N * (R**2).sum(axis=0) / np.maximum(there.sum(axis=0), 1.0)
    share, error = (
        np.divide(own, scale, out=np.zeros(d), where=scale > 0)
        for own in (t, np.sqrt(np.maximum(v, 0.0)))
    )
    return share, error


def _products(values: FloatArray, halves: Places, m: int) -> FloatArray:
    """The sum of values (n, d) in each of m cells in one half of the rows, times that in the other, (m, d)."""
    first, second = _sums(values, halves, 2 * m).reshape(2, m, -1)
    return np.asarray(first * second)


def _cells(codes: Codes, columns: Columns) -> Places:
    """Each row's cell of these columns."""
    cells = codes[:, columns[0]].astype(np.intp)
    for column in columns[1:]:
        cells = cells * (int(codes[:, column].max(initial=0)) + 1) + codes[:, column]
        if len(columns) > 2:  # products of many columns are too large to count
            cells = np.unique(cells, return_inverse=True)[1]
    return cells


def _frequent(cells: Places) -> Codes:
    """Cells from 0 on, those with fewer than `LEAST` rows as one."""
    _, places, counts = np.unique(cells, return_inverse=True, return_counts=True)
    rare = counts < LEAST
    numbered = np.where(rare, np.count_nonzero(~rare), np.cumsum(~rare) - 1)
    return numbered[places].astype(np.int32)


def _means(R: FloatArray, cells: Places) -> FloatArray:
    """Of each row's cell, (n, d)."""
    m = int(cells.max()) + 1
    rows = np.maximum(np.bincount(cells, minlength=m), 1)[:, None]
    return np.asarray((_sums(R, cells, m) / rows)[cells])


def _sums(values: FloatArray, cells: Places, m: int) -> FloatArray:
    """Of the rows of each cell, (m, d)."""
    n = len(cells)
    Z = sparse.csr_matrix((np.ones(n), cells, np.arange(n + 1)), shape=(n, m))
    return np.asarray(Z.T @ values)
