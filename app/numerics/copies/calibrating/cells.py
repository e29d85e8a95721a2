"""Cells of records: groups of categories within which the numbers differ less than between them.

A tree of splits, the best first. Each divides the categories of one column into two groups, in the order
of the mean numbers that one half of the rows tells of them; the other half judges the split and is what
the cells are of. So a column with a category for every row splits nothing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from app.numerics.arrays import Codes, Flags, FloatArray, Places

SURE = 20.0
"""x of the bound d + 2√(dx) + 2x that χ² of d degrees exceeds with chance e^-x: a split gains more."""


class _Split(NamedTuple):
    gain: float
    column: int
    first: Flags
    """(p,), the indicators of the column's categories that go to the first of the two groups."""


class _Sums(NamedTuple):
    """Of some rows by category, of those that learn and of those that judge: how many, (2, p), and Σ of targets, (2, p, d)."""

    counts: FloatArray
    targets: FloatArray

    def less(self, other: _Sums) -> _Sums:
        return _Sums(self.counts - other.counts, self.targets - other.targets)


class _Leaf(NamedTuple):
    rows: Places
    sums: _Sums
    split: _Split | None


def record_cells(
    Z: sparse.csr_matrix, firsts: Places, targets: FloatArray, *, most: int, least: int
) -> tuple[Places, Places]:
    """The rows that were judged, (m,), and the cell of each, (m,), numbered from 0.

    Z are the indicators (n, p) of the columns that begin at `firsts` and end with the last of them;
    targets (n, d) in units of their standard deviation. A cell has at least `least` judged rows.
    """
    n, p = Z.shape
    categories = Z.indices.reshape(n, len(firsts) - 1)
    judging = np.arange(n) % 2
    halves = (categories + p * judging[:, None]).astype(np.int32)
    targets = np.ascontiguousarray(targets)  # whole rows are taken and added up

    def leaf(rows: Places, sums: _Sums) -> _Leaf:
        return _Leaf(rows, sums, _best_split(firsts, sums, least))

    everything = np.arange(n)
    leaves = [leaf(everything, _sums(halves, targets, p))]
    while len(leaves) < most:
        place = int(np.argmax([0.0 if leaf.split is None else leaf.split.gain for leaf in leaves]))
        rows, sums, split = leaves[place]
        if split is None:
            break
        side = split.first[categories[rows, split.column]]
        fewer, others = sorted((rows[side], rows[~side]), key=len)
        own = _sums(halves.take(fewer, axis=0), targets.take(fewer, axis=0), p)
        leaves[place] = leaf(fewer, own)
        leaves.append(leaf(others, sums.less(own)))
    cell = np.empty(n, dtype=np.intp)
    for number, (rows, _, _) in enumerate(leaves):
        cell[rows] = number
    judged = np.flatnonzero(judging)
    return judged, cell[judged]


def _best_split(firsts: Places, sums: _Sums, least: int) -> _Split | None:
    own = slice(firsts[0], firsts[1])  # every row has one category of the first column
    rows = sums.counts[:, own].sum(axis=1)
    if rows[0] == 0 or rows[1] < 2 * least:
        return None
    mean = sums.targets[:, own].sum(axis=1) / rows[:, None]
    learnt, judged = sums.targets - sums.counts[:, :, None] * mean[:, None]
    # All columns at once. Along the direction in which a column's groups differ most; one more row at
    # the mean for each, so that a category of one row does not lead.
    d = judged.shape[1]
    column = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
    means = learnt / (sums.counts[0] + 1.0)[:, None]
    between = np.array([learnt[f:t].T @ means[f:t] for f, t in pairwise(firsts.tolist())])
    directions = np.linalg.eigh(between)[1][:, :, -1]
    order = np.lexsort(((means * directions[column]).sum(axis=1), column))
    below = np.cumsum(sums.counts[1][order]) - rows[1] * column
    above = rows[1] - below
    moved = np.cumsum(judged[order], axis=0)  # a column moves as much as it moves back
    gain = np.zeros(len(order))
    fair = (below >= least) & (above >= least)
    gain[fair] = (moved[fair] ** 2).sum(axis=1) * (1 / below[fair] + 1 / above[fair])
    place = int(gain.argmax())
    if gain[place] <= d + 2 * np.sqrt(d * SURE) + 2 * SURE:
        return None
    first = np.zeros(len(order), dtype=bool)
    first[order[firsts[column[place]] : place + 1]] = True
    return _Split(float(gain[place]), int(column[place]), first)


def _sums(halves: Codes, targets: FloatArray, p: int) -> _Sums:
    """Of rows whose categories (n, c) are counted from p on where they judge."""
    n, c = halves.shape
    row_starts = np.arange(n + 1, dtype=np.int32) * np.int32(c)
    Z = sparse.csr_matrix((np.ones(n * c), halves.ravel(), row_starts), shape=(n, 2 * p))
    count = np.bincount(Z.indices, minlength=2 * p).astype(np.float64)
    return _Sums(count.reshape(2, p), np.asarray(Z.T @ targets).reshape(2, p, -1))
