"""Rows of a copy beside the originals: what attacks on a release are given.

| here | meaning |
|---|---|
| n, d, c | rows, numeric columns, categorical columns |
| codes | a category's place in its column's list; a missing one is a category too |
| kept | which records are shown as they are, where that is known |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import Codes, Flags, FloatArray, Places

MOST_CATEGORIES = 30
"""Categories of a column that are told apart, the most frequent; the rest are one."""

ATTACKED_CATEGORIES = 3
FEWEST_ROWS = 20
"""A category with fewer rows is not attacked: nothing could be measured."""


@dataclass(frozen=True, repr=False)
class ReleasedRows:
    """The same n rows twice.

    where:
        numbers, released    (n, d), NaN where missing, in both alike
        codes, shown         (n, c), of the original and of the copy
        parts                (n,), the part of the data set that each row is of
        kept                 (n,), or None where it is not known
        runs                 (n,), the same for rows that follow each other in the table and came together; None
                             where these are rows from here and there
    """

    names: tuple[str, ...]
    numbers: FloatArray
    released: FloatArray
    category_names: tuple[str, ...]
    codes: Codes
    shown: Codes
    parts: Places
    kept: Flags | None
    runs: Places | None = None

    @property
    def complete(self) -> Flags:
        """Rows in which no number is missing, (n,)."""
        return np.asarray(~np.isnan(self.numbers).any(axis=1))


@dataclass(frozen=True, repr=False)
class Target:
    """Something to find: its values (n,), NaN where there is none, what the copy shows of it, (n,), and whether
    it is of the record."""

    name: str
    values: FloatArray
    shown: FloatArray
    of_record: bool


def targets(rows: ReleasedRows) -> list[Target]:
    """Every number, and of every categorical column the indicators of its commonest categories."""
    found = [
        Target(name, column, released, False)
        for name, column, released in zip(rows.names, rows.numbers.T, rows.released.T, strict=True)
    ]
    for name, column, shown in zip(rows.category_names, rows.codes.T, rows.shown.T, strict=True):
        common, counts = _common(column)
        for code, count in zip(common[:ATTACKED_CATEGORIES], counts, strict=False):
            if FEWEST_ROWS <= count <= len(column) - FEWEST_ROWS:
                indicator = (column == code).astype(np.float64)
                seen = (shown == code).astype(np.float64)
                found.append(Target(f"{name}, category {code}", indicator, seen, True))
    return found


def number_features(rows: ReleasedRows) -> FloatArray:
    """The released numbers in units of their spread, gaps at the mean and marked, (n, p)."""
    gaps = np.isnan(rows.released)
    mean = np.nanmean(np.where(gaps.all(axis=0), 0.0, rows.released), axis=0)
    spread = np.nanstd(np.where(gaps.all(axis=0), 0.0, rows.released), axis=0)
    filled = np.where(gaps, 0.0, (rows.released - mean) / np.where(spread > 0, spread, 1.0))
    return np.hstack([filled, gaps[:, gaps.any(axis=0)].astype(np.float64)])


def category_features(rows: ReleasedRows, most: int) -> FloatArray:
    """Indicators of the categories shown, all but one of each column, (n, p).

    With `most` of them, or a few more, no further column is looked at.
    """
    columns = [np.empty((len(rows.numbers), 0))]
    for column in rows.shown.T:
        if sum(one.shape[1] for one in columns) >= most:
            break
        common, _ = _common(column)
        kept = common[:MOST_CATEGORIES]
        dropped = 1 if len(kept) == len(common) else 0
        columns.append((column[:, None] == kept[dropped:]).astype(np.float64))
    return np.hstack(columns)


def _common(column: Codes) -> tuple[Codes, Places]:
    """The codes that occur, the most frequent first, and how often."""
    codes, counts = np.unique(column, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return codes[order], counts[order]
