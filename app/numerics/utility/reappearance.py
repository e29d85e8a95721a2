"""Reappearance: original records in a released table, exact and within a distance, against a control.

The theory of `app.numerics.synthesis.leakage` counts permutations that meet; this counts what came out, for any
method, after rounding and clipping. A record close to a released one need not have leaked: where the
population is dense, any record is. So the same is counted for a holdout, records of the same
population that the release was not made from; only what exceeds the holdout's share is leakage.

The distance of two records is the root of the mean over columns of squared differences: numbers in
standard deviations of the original, categories 0 when equal and 1 otherwise, and 1 more where one of
two numbers is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from app.numerics.arrays import Flags, FloatArray, Places
from app.numerics.cancellation import checkpoint
from app.numerics.tables import MixedTable

BLOCK_ROWS = 8192


@dataclass(frozen=True)
class ReappearanceShare:
    """`count` of `total`, with the Wilson interval for the rate behind it at 95 %."""

    count: int
    total: int

    @property
    def rate(self) -> float:
        return self.count / self.total

    @property
    def interval(self) -> tuple[float, float]:
        z = 1.959963984540054
        n = self.total
        centre = (self.rate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(self.rate * (1 - self.rate) / n + (z / (2 * n)) ** 2)
        return max(0.0, centre - half), min(1.0, centre + half)


def equal_records(records: MixedTable, released: MixedTable) -> ReappearanceShare:
    """The share of `records` that have an equal one in `released`, cell for cell; O(n + n')."""
    known = set(_row_bytes(released))
    return ReappearanceShare(sum(row in known for row in _row_bytes(records)), records.records)


def nearest_distances(
    records: MixedTable, released: MixedTable, *, deviation: FloatArray
) -> FloatArray:
    """The distance of each record to the nearest released one, (n,), in O(n · n') time, one block of memory.

    `deviation` (p,) is the unit of each numeric column (see `units`). For attack and control the same
    units must be used. Raises ValueError when one of the tables is empty.
    """
    if not records.records or not released.records:
        raise ValueError("records and released must not be empty")
    gaps: Flags = np.zeros(records.numeric.shape[1], dtype=np.bool_)
    for table in (records, released):
        gaps |= np.isnan(table.numeric).any(axis=0)
    numbers, labels = _comparable(records, deviation, gaps)
    other_numbers, other_labels = _comparable(released, deviation, gaps)
    nearest = np.full(records.records, np.inf)
    for start in range(0, released.records, BLOCK_ROWS):
        checkpoint()
        rows = slice(start, start + BLOCK_ROWS)
        squares = scipy.spatial.distance.cdist(numbers, other_numbers[rows], "sqeuclidean")
        for column, others in zip(labels.T, other_labels[rows].T, strict=True):
            squares += column[:, None] != others
        np.minimum(nearest, squares.min(axis=1), out=nearest)
    columns = records.numeric.shape[1] + records.codes.shape[1]
    distances: FloatArray = np.sqrt(nearest / columns)
    return distances


def membership_area(members: FloatArray, others: FloatArray) -> float:
    """Area under the curve of telling `members`, (n,) distances, from `others`, (m,), by nearness: ½ is chance.

    The area under the curve, P{a member is nearer than another} + ½·P{as near}.
    """
    ranks = scipy.stats.rankdata(np.concatenate([members, others]))
    below = ranks[members.size :].sum() - others.size * (others.size + 1) / 2
    return float(below / (members.size * others.size))


def units(original: MixedTable) -> FloatArray:
    """Standard deviations of the numeric columns, (p,), 1 where a column does not vary."""
    present = ~np.isnan(original.numeric)
    counts = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, original.numeric, 0.0).sum(axis=0) / counts
    centred = np.where(present, original.numeric - mean, 0.0)
    deviation = np.sqrt(np.square(centred).sum(axis=0) / counts)
    return np.where(deviation > 0, deviation, 1.0)


def _comparable(table: MixedTable, deviation: FloatArray, gaps: Flags) -> tuple[FloatArray, Places]:
    """Numbers in units with 0 for missing, and labels to which marks for the missing are added."""
    missing = np.isnan(table.numeric)
    numbers = np.where(missing, 0.0, table.numeric) / deviation
    return numbers, np.hstack([table.codes, missing[:, gaps].astype(np.intp)])


def _row_bytes(table: MixedTable) -> list[bytes]:
    """Each record as bytes that are equal where all its cells are equal."""
    numeric = np.where(np.isnan(table.numeric), np.nan, table.numeric + 0.0)  # −0 is 0, one NaN
    cells = np.hstack([numeric, table.codes.astype(np.float64)])
    rows: list[bytes] = np.ascontiguousarray(cells).view(f"V{8 * cells.shape[1]}").ravel().tolist()
    return rows
