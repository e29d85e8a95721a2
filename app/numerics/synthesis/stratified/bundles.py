"""Bundles: numeric columns that repeat together, such as facts of a town in every record of it.

Each of them has ties, and together they take hardly more values than one of them alone. A synthesis of
each column puts values of several towns into one record, which trees find at once. So a bundle takes part
as one category, and its columns return together.

| symbol | name here | meaning |
| --- | --- | --- |
| k_A | `_counted` | different combinations of the columns A |
| n/k ≥ 3 | `LEAST_RECORDS` | records for each combination, on average |

A combination that one record alone has would give that record away. Those are taken apart: each column is
permuted among neighbours of that kind, so that no column's values change and the combinations do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.synthesis.stratified.identities import identities
from app.numerics.tables import MixedTable

LEAST_RECORDS = 3

MOST_GROWTH = 1.25
"""A column joins when it multiplies the combinations by no more than this."""

LEAST_SURPRISE = 1.5
"""Were the column permuted, there would be this many times the combinations at least."""

GROUP_RECORDS = 5
"""Records among which the columns of rare combinations are permuted, at least, where there are so many."""

FEWEST_OTHERS = 2
"""Columns that must vary beside a bundle: one category alone could not be synthesised."""


@dataclass(frozen=True)
class Bundle:
    """Numeric columns of a table, and the combinations of their values, (k, columns)."""

    columns: Places
    combinations: FloatArray


@dataclass(frozen=True)
class BundledTable:
    """A table with one more categorical column for each bundle, in the place of its numeric columns.

    where:
        cells  the other numeric columns, then the categories and after them those of the bundles
        alone  the numeric columns of the original that are in no bundle
    """

    cells: MixedTable
    alone: Places
    bundles: tuple[Bundle, ...]

    def names(self, original: Sequence[str]) -> list[str]:
        """Names of the columns of `cells`; a bundle has the names of its columns."""
        p = self.alone.size + sum(bundle.columns.size for bundle in self.bundles)
        together = [", ".join(original[c] for c in bundle.columns) for bundle in self.bundles]
        return [*(original[column] for column in self.alone), *original[p:], *together]

    def opened(self, made: MixedTable) -> MixedTable:
        """`made`, which has the columns of `cells`, with the columns of the original."""
        if not self.bundles:
            return made
        p = self.alone.size + sum(bundle.columns.size for bundle in self.bundles)
        q = len(made.categories) - len(self.bundles)
        numeric = np.empty((made.records, p))
        numeric[:, self.alone] = made.numeric
        for bundle, codes in zip(self.bundles, made.codes[:, q:].T, strict=True):
            numeric[:, bundle.columns] = bundle.combinations[codes]
        return MixedTable(numeric, made.codes[:, :q], made.categories[:q])


def bundled(table: MixedTable, rng: np.random.Generator) -> BundledTable:
    """The table with its bundles tied up; as it is where there are none.

    A column with a missing cell, or one that takes part in an exact linear relation, is in no bundle.
    """
    found: list[Bundle] = []
    codes: list[Places] = []
    for columns in _together(table, rng):
        values = _rare_taken_apart(table.numeric[:, columns], rng)
        combinations, places = np.unique(values, axis=0, return_inverse=True)
        found.append(Bundle(columns, combinations))
        codes.append(places.reshape(-1))
    p = table.numeric.shape[1]
    alone = np.setdiff1d(np.arange(p), [column for each in found for column in each.columns])
    if not found:
        return BundledTable(table, alone, ())
    cells = MixedTable(
        table.numeric[:, alone],
        np.column_stack([table.codes, *codes]),
        (*table.categories, *(len(bundle.combinations) for bundle in found)),
    )
    return BundledTable(cells, alone, tuple(found))


def _together(table: MixedTable, rng: np.random.Generator) -> list[Places]:
    """The columns of each bundle, beginning with the column of the most values."""
    n, p = table.numeric.shape
    labels = {
        column: np.unique(table.numeric[:, column], return_inverse=True)[1].reshape(-1)
        for column in np.flatnonzero(~np.isnan(table.numeric).any(axis=0))
    }
    counts = {column: _counted(each) for column, each in labels.items()}
    waiting = [c for c in counts if 2 <= counts[c] <= n / LEAST_RECORDS]
    waiting.sort(key=lambda column: (-counts[column], column))
    varying = p - sum(count < 2 for count in counts.values())
    varying += sum(np.unique(each).size > 1 for each in table.codes.T)
    related: set[int] | None = None
    found = []
    while waiting:
        members = [waiting.pop(0)]
        joint = labels[members[0]]
        for column in waiting:
            both = _joined(joint, labels[column])
            if _counted(both) > min(MOST_GROWTH * _counted(joint), n / LEAST_RECORDS):
                continue
            by_chance = _counted(_joined(joint, rng.permutation(labels[column])))
            if by_chance < LEAST_SURPRISE * _counted(both):
                continue
            if related is None:  # sought only where it matters: most tables have no bundle
                related = _in_identities(table)
            if related.isdisjoint((members[0], column)):
                members.append(column)
                joint = both
        waiting = [column for column in waiting if column not in members]
        if len(members) > 1 and varying - len(members) >= FEWEST_OTHERS:
            found.append(np.array(members, dtype=np.intp))
    return found


def _in_identities(table: MixedTable) -> set[int]:
    return {
        column
        for identity in identities(table.numeric)
        for column in (identity.total, *(each for each, _ in identity.weights))
    }


def _rare_taken_apart(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """`values` (n, columns), each column permuted among neighbours whose combinations nobody shares.

    Neighbours are at least `GROUP_RECORDS` such records that follow one another in the order of the first
    column. A single one takes those of the next rarest combinations with it.
    """
    _, places, counts = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    shared_by = counts[places.reshape(-1)]
    rare = np.flatnonzero(shared_by == 1)
    if rare.size == 1 and (shared_by > 1).any():
        rare = np.flatnonzero(shared_by <= shared_by[shared_by > 1].min())
    rare = rare[np.argsort(values[rare, 0], kind="stable")]
    apart = values.copy()
    for group in np.array_split(rare, max(1, rare.size // GROUP_RECORDS)):
        apart[group] = rng.permuted(values[group], axis=0)
    return apart


def _joined(left: Places, right: Places) -> Places:
    """One label for each pair of labels, (n,)."""
    labels: Places = np.unique(left * (right.max() + 1) + right, return_inverse=True)[1]
    return labels.reshape(-1)


def _counted(labels: Places) -> int:
    """Return how many labels 0, 1, … there are."""
    return int(labels.max()) + 1
