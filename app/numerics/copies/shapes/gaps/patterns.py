"""Patterns of missing cells, and the moments of the rows of each pattern.

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
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from app.numerics.arrays import FloatArray, Places
from app.numerics.copies.shapes.gaps.runs import run_moments
from app.numerics.moments import Moments, gapless, moments_about

Columns = tuple[int, ...]

MOST_PATTERNS = 32
"""Patterns that are kept of each block and of all: those of the most rows."""

MOST_SETS = 32


class Run(NamedTuple):
    """Rows that have the same cells: how many, mean (d,) and comoment (d, d), 0 in the columns that they lack."""

    rows: float
    mean: FloatArray
    comoment: FloatArray

    def merged(self, other: Run) -> Run:
        """Both together [chan1983]."""
        rows = self.rows + other.rows
        with np.errstate(over="ignore", invalid="ignore"):
            shift = other.mean - self.mean
            between = shift[:, None] * shift * (self.rows * other.rows / rows)
            mean = self.mean + shift * (other.rows / rows)
            return Run(rows, mean, self.comoment + other.comoment + between)


@dataclass(frozen=True)
class Patterns:
    """Incomplete rows, by pattern."""

    runs: Mapping[Columns, Run] = field(default_factory=dict)

    @classmethod
    def of(cls, block: FloatArray) -> Self:
        """The most frequent patterns of rows (n, d), missing cells NaN."""
        return cls.apart(block, packed_gaps(block))[1]

    @classmethod
    def apart(
        cls, block: FloatArray, packed: NDArray[np.uint16]
    ) -> tuple[Moments, Self, FloatArray]:
        """The moments of the complete rows, the most frequent patterns, and the rows of the others.

        Of rows (n, d) and their `packed_gaps`. Rows are sorted by pattern, so that every pattern is a run of them.
        """
        n, d = block.shape
        gappy = packed.any(axis=0)  # the others come first, and need no sorting
        some = np.flatnonzero(gappy)
        order = np.append(np.flatnonzero(~gappy), some[np.lexsort(packed[:, some])] if d else some)
        starts = _starts(packed.take(order, axis=1))
        counts = np.diff(starts, append=n)
        present = ~np.isnan(block[order[starts]])
        complete = np.asarray(present.all(axis=1))
        # The complete rows are one pattern more, and the first to be looked at.
        frequent = np.lexsort((-counts, ~complete))[: MOST_PATTERNS + complete.sum()]
        frequent = frequent[complete[frequent] | (present[frequent].sum(axis=1) > 1)]
        moments = run_moments(block.T, order, starts[frequent], (starts + counts)[frequent])
        found = {
            tuple(np.flatnonzero(there).tolist()): Run(rows, mean, comoment)
            for there, rows, mean, comoment in zip(
                present[frequent], counts[frequent].tolist(), *moments, strict=True
            )
        }
        whole = found.pop(tuple(range(d)), None)
        others = np.ones(len(starts), dtype=bool)
        others[frequent] = False
        rare = block.T.take(order[np.repeat(others, counts)], axis=1).T
        return (Moments.none(d) if whole is None else gapless(*whole)), cls(found), rare

    def of_cells(self, d: int) -> tuple[Moments, FloatArray]:
        """Moments of all cells of these rows, of d columns, as `incomplete_moments` has them.

        What is known of each pattern is added up: a third of the time of looking at the rows again.
        """
        there = np.zeros((len(self.runs), d))
        for place, columns in enumerate(self.runs):
            there[place, columns] = 1.0
        n, means, comoments = _stacked(list(self.runs.values()), d)
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
        """Moments of both sets of rows, for the most frequent patterns of all."""
        if not self.runs or not other.runs:
            return self if self.runs else other
        found = dict(self.runs)
        for columns, run in other.runs.items():
            found[columns] = found[columns].merged(run) if columns in found else run
        return Patterns({columns: found[columns] for columns in _by_rows(found)[:MOST_PATTERNS]})

    def having(self, columns: Columns, complete: Moments) -> Moments:
        """Moments of these columns over the rows that have them, the complete rows among them."""
        wanted = set(columns)
        whole = Run(float(complete.count[0, 0]), complete.mean[:, 0], complete.comoment)
        there = [whole, *(run for own, run in self.runs.items() if wanted <= set(own))]
        n, means, comoments = _stacked(there, len(whole.mean))
        total = n.sum()
        mean = (n * means).sum(axis=0) / max(total, 1.0)
        offset = means - mean
        comoment = comoments.sum(axis=0) + (n * offset).T @ offset
        among = np.array(columns, dtype=np.intp)
        return gapless(total, mean[among], comoment[among[:, None], among])

    def sets(self) -> list[Columns]:
        """The patterns, the most frequent first, then what two of them have in common."""
        most = _by_rows(self.runs)
        common = (
            tuple(sorted(set(one) & set(other)))
            for place, one in enumerate(most)
            for other in most[:place]
        )
        return list(dict.fromkeys([*most, *(one for one in common if len(one) > 1)]))[:MOST_SETS]


def _by_rows(runs: Mapping[Columns, Run]) -> list[Columns]:
    """The patterns, the most frequent first."""
    return sorted(runs, key=lambda columns: (-runs[columns].rows, columns))


def _stacked(runs: Sequence[Run], d: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows (r, 1), means (r, d) and comoments (r, d, d)."""
    rows = np.array([run.rows for run in runs], dtype=np.float64)[:, None]
    means = np.array([run.mean for run in runs]).reshape(-1, d)
    return rows, means, np.array([run.comoment for run in runs]).reshape(-1, d, d)


def packed_gaps(block: FloatArray) -> NDArray[np.uint16]:
    """Return which cells of rows (n, d) are missing, sixteen columns to a word, (⌈d/16⌉, n): as many bits are sorted by counting."""
    n, d = block.shape
    packed = np.zeros((-(-d // 16), n), dtype=np.uint16)
    for place, column in enumerate(block.T):
        missing = np.isnan(column).astype(np.uint16)
        packed[place // 16] |= missing << np.uint16(place % 16)
    return packed


def _starts(packed: NDArray[np.uint16]) -> Places:
    """Places in sorted rows (b, n) at which different ones begin."""
    first = np.zeros(packed.shape[1], dtype=bool)
    first[:1] = True
    for own in packed:
        first[1:] |= own[1:] != own[:-1]
    return np.flatnonzero(first)
