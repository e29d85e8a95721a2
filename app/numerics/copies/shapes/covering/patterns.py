"""Rows by which of their cells are there: patterns of gaps, and the moments of the rows of each.

Where cells are missing for a reason, the rows that have some columns may vary otherwise than the
complete ones: managers have a bonus and no overtime. What is promised of a combination of columns is
promised over the rows that have them, so these rows are looked at by themselves.

| here | meaning |
|---|---|
| pattern | the places of the columns that a row has, ascending |
| O | a set of columns; the rows that have O are those of every pattern that holds it |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from app.numerics.arrays import FloatArray, Places
from app.numerics.moments import Moments, complete_moments, moments_about

Columns = tuple[int, ...]

MOST_PATTERNS = 32
"""Patterns that are kept of each block and of all: those of the most rows."""

MOST_SETS = 32


@dataclass(frozen=True)
class Patterns:
    """Incomplete rows, by pattern: moments of the columns that they have."""

    moments: Mapping[Columns, Moments] = field(default_factory=dict)

    @classmethod
    def of(cls, block: FloatArray) -> Self:
        """The most frequent patterns of rows (n, d), missing cells NaN."""
        return cls.apart(block)[1]

    @classmethod
    def apart(cls, block: FloatArray) -> tuple[Moments, Self, FloatArray]:
        """The moments of the complete rows, the most frequent patterns, and the rows of the others.

        Rows are sorted by pattern, so that every pattern is a run of them, and lose their means.
        """
        n, d = block.shape
        packed = _packed_gaps(block)
        order = np.lexsort(packed) if d else np.arange(n)
        rows = block.T.take(order, axis=1)
        starts = _starts(packed.take(order, axis=1))
        counts = np.diff(starts, append=n)
        present = ~np.isnan(rows[:, starts])
        complete = np.asarray(present.all(axis=0))
        # The complete rows are one pattern more, and the first to be looked at.
        frequent = np.lexsort((-counts, ~complete))[: MOST_PATTERNS + complete.sum()]
        frequent = frequent[complete[frequent] | (present[:, frequent].sum(axis=0) > 1)]
        runs = {place: slice(starts[place], starts[place] + counts[place]) for place in frequent}
        others = np.ones(n, dtype=bool)
        for run in runs.values():
            others[run] = False
        rare = rows.take(np.flatnonzero(others), axis=1).T
        for own in rows:
            own[np.isnan(own)] = 0.0
        means, rests = _centred_in_place(rows, starts, counts)
        whole, found = Moments.none(d), {}
        for place, run in runs.items():
            if complete[place]:  # as they stand: most rows are, and a copy of them takes its time
                whole = complete_moments(rows[:, run].T, means[:, place], rests[:, place])
                continue
            columns = np.flatnonzero(present[:, place])
            found[tuple(columns.tolist())] = complete_moments(
                rows[columns, run].T, means[columns, place], rests[columns, place]
            )
        return whole, cls(found), rare

    def of_cells(self, d: int) -> tuple[Moments, FloatArray]:
        """Moments of all cells of these rows, of d columns, as `incomplete_moments` has them.

        What is known of each pattern is added up: a third of the time of looking at the rows again.
        """
        n = np.array([_rows(moments) for moments in self.moments.values()])[:, None]
        there = np.zeros((len(n), d))
        means = np.zeros((len(n), d))
        comoments = np.zeros((len(n), d, d))
        for place, (columns, moments) in enumerate(self.moments.items()):
            there[place, columns] = 1.0
            means[place, columns] = moments.mean[:, 0]  # there are no gaps
            own = np.array(columns)
            comoments[place, own[:, None], own] = moments.comoment
        centre = (n * means).sum(axis=0) / np.maximum((n * there).sum(axis=0), 1.0)
        offset = (means - centre) * there
        own = np.diagonal(comoments, axis1=1, axis2=2)
        return moments_about(
            centre,
            (n * there).T @ there,
            (n * offset).T @ there,
            comoments.sum(axis=0) + (n * offset).T @ offset,
            (own + n * offset**2).T @ there,
        )

    def merged(self, other: Patterns) -> Patterns:
        """Of both sets of rows; the most frequent patterns of all."""
        if not self.moments or not other.moments:
            return self if self.moments else other
        found = dict(self.moments)
        for columns, moments in other.moments.items():
            found[columns] = found[columns].merged(moments) if columns in found else moments
        most = sorted(found, key=lambda columns: (-_rows(found[columns]), columns))
        return Patterns({columns: found[columns] for columns in most[:MOST_PATTERNS]})

    def having(self, columns: Columns, complete: Moments) -> Moments:
        """Moments of these columns over the rows that have them, the complete rows among them."""
        wanted = set(columns)
        there = [restricted(complete, columns)]
        for pattern, moments in self.moments.items():
            if wanted <= set(pattern):
                there.append(restricted(moments, tuple(map(pattern.index, columns))))
        return _together(there)

    def sets(self) -> list[Columns]:
        """The patterns, the most frequent first, then what two of them have in common."""
        most = sorted(self.moments, key=lambda columns: (-_rows(self.moments[columns]), columns))
        common = (
            tuple(sorted(set(one) & set(other)))
            for place, one in enumerate(most)
            for other in most[:place]
        )
        return list(dict.fromkeys([*most, *(one for one in common if len(one) > 1)]))[:MOST_SETS]


def restricted(moments: Moments, columns: Columns) -> Moments:
    """The moments of some of the columns."""
    among = np.ix_(columns, columns)
    return Moments(moments.count[among], moments.mean[among], moments.comoment[among])


def _together(sets: Sequence[Moments]) -> Moments:
    """The moments of several sets of rows without gaps, as if they were merged one by one."""
    n = np.array([_rows(moments) for moments in sets])
    means = np.array([moments.mean[:, 0] for moments in sets])
    total = n.sum()
    mean = n @ means / max(total, 1.0)
    offset = means - mean
    comoment = sum(moments.comoment for moments in sets) + (n[:, None] * offset).T @ offset
    d = len(mean)
    return Moments(np.full((d, d), total), np.repeat(mean[:, None], d, axis=1), comoment)


def _packed_gaps(block: FloatArray) -> NDArray[np.uint16]:
    """Which cells of rows (n, d) are missing, sixteen columns to a word, (⌈d/16⌉, n): as many bits are sorted by counting."""
    n, d = block.shape
    packed = np.zeros((-(-d // 16), n), dtype=np.uint16)
    for column in range(d):
        missing = np.isnan(block[:, column]).astype(np.uint16)
        packed[column // 16] |= missing << np.uint16(column % 16)
    return packed


def _starts(packed: NDArray[np.uint16]) -> Places:
    """Where in sorted rows (b, n) other ones begin."""
    first = np.zeros(packed.shape[1], dtype=bool)
    first[:1] = True
    for own in packed:
        first[1:] |= own[1:] != own[:-1]
    return np.flatnonzero(first)


def _centred_in_place(
    rows: FloatArray, starts: Places, counts: Places
) -> tuple[FloatArray, FloatArray]:
    """Means of runs of rows (d, n), by run (d, r), which the rows have lost afterwards, and the means of what is left."""
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.add.reduceat(rows, starts, axis=1) / counts
        for row, own in zip(rows, means, strict=True):
            np.subtract(row, np.repeat(own, counts), out=row)
        return means, np.add.reduceat(rows, starts, axis=1) / counts


def _rows(moments: Moments) -> float:
    return float(moments.count[0, 0])
