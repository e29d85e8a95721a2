"""Repair of numeric columns against the others: ranks are reassigned in the leaves of trees.

Mixing inside strata keeps what is linear there. What is left is found column by column: a tree over the
originals predicts a column from all others, and inside each of its leaves the synthetic records get values of
the originals there, the smallest to the smallest. A record keeps its rank among its neighbours, so that what
the mixing found stays; what the neighbours have is put right. Each column is repaired once: going back and forth
between columns would put original records together again.

Every tree weighs the originals anew, at random [Rubin, 1981]: which leaves there are is itself uncertain. One tree for
all rounds would repeat what is chance in the originals, and rows would be told from fresh records by it.

| symbol | name here | meaning |
| --- | --- | --- |
| X, Y | `original`, `synthetic`, (n, d), (n', d) | ordered values, NaN for missing |
| | `least` | originals that each leaf holds at least |
| w ~ Exp(1) | `weights` | the Bayesian bootstrap of the originals, one for each tree |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy import special

from app.numerics.arrays import FloatArray, Places
from app.numerics.parallel import map_on_cores

TREE_RECORDS = 5_000
"""Originals that a tree learns from, and that its leaves hold, at most; other ones for each tree."""

SPLIT_COLUMNS = 32
"""Columns drawn at random for a split of a tree, at most: work grows with d, not with d²."""


class RepairTree(NamedTuple):
    """A tree that predicts a column from the others, and the values of the originals in its leaves.

    where:
        values  (n,), leaf by leaf, in ascending order within a leaf
        first   where in `values` each node's begin; nodes that are no leaves have none
        counts  how many each has
    """

    tree: Any
    values: FloatArray
    first: Places
    counts: Places


def repairable(original: FloatArray, numeric: Places, least: int) -> Places:
    """Those of the `numeric` columns that vary and whose originals fill two leaves.

    Two columns, repaired one by the other, can come together as they were. Then the rest of the record must not follow:
    none is repaired where two records agree in all but the two most detailed columns with a chance above 1/`least`.
    """
    detail = [np.unique(column[~np.isnan(column)]).size for column in original.T]
    rest = np.delete(original, np.argsort(detail, kind="stable")[-2:], axis=1)
    _, counts = np.unique(np.nan_to_num(rest, nan=np.inf), axis=0, return_counts=True)
    if np.square(counts / len(original)).sum() > 1 / least:
        return np.array([], dtype=np.intp)
    known = (~np.isnan(original)).sum(axis=0)
    chosen = [each for each in numeric if detail[each] > 1 and known[each] >= 2 * least]
    return np.array(chosen, dtype=np.intp)


def repaired_ranks(
    original: FloatArray,
    synthetic: FloatArray,
    columns: Places,
    least: int,
    rng: np.random.Generator,
) -> FloatArray:
    """`synthetic` with `columns` repaired one after the other, in random order; missing cells stay missing.

    In the end each column's own values are given out in the order found: no column's values change, only who has them.
    """
    made = synthetic.copy()
    order = rng.permutation(columns)
    for column, found in zip(order, _trees(original, order, least, rng), strict=True):
        wanted = np.flatnonzero(~np.isnan(made[:, column]))
        if found is not None and wanted.size:
            made[wanted, column] = _in_leaves(found, made[wanted], column, rng)
    for column in columns:
        wanted = np.flatnonzero(~np.isnan(made[:, column]))
        order = wanted[np.argsort(made[wanted, column], kind="stable")]
        made[order, column] = np.sort(synthetic[wanted, column])
    return made


def _trees(
    original: FloatArray, columns: Places, least: int, rng: np.random.Generator
) -> list[RepairTree | None]:
    """A tree for each of `columns`; None where too few originals have it."""
    seeds = rng.integers(2**31, size=columns.size).tolist()

    def learnt(place: int) -> RepairTree | None:
        from sklearn.tree import DecisionTreeRegressor

        chance = np.random.default_rng(seeds[place])
        column = columns[place]
        known = np.flatnonzero(~np.isnan(original[:, column]))
        if known.size < 2 * least:
            return None
        records = original[chance.permutation(known)[:TREE_RECORDS]]
        values = records[:, column]
        features = np.delete(records, column, axis=1).astype(np.float32)
        weights = chance.exponential(size=len(records))
        tree = DecisionTreeRegressor(
            min_samples_leaf=least,
            max_features=min(SPLIT_COLUMNS, features.shape[1]),
            random_state=seeds[place],
        )
        scores = special.ndtri((scipy.stats.rankdata(values) - 0.5) / values.size)
        leaves = tree.fit(features, scores, sample_weight=weights).apply(features)
        counts = np.bincount(leaves, minlength=tree.tree_.node_count)
        return RepairTree(
            tree, values[np.lexsort((values, leaves))], np.cumsum(counts) - counts, counts
        )

    return map_on_cores(learnt, range(columns.size))


def _in_leaves(
    found: RepairTree, records: FloatArray, column: int, rng: np.random.Generator
) -> FloatArray:
    """`column` of `records` (n', d) by the values of the originals in the same leaf, at the same share of its ranks."""
    leaves = found.tree.apply(np.delete(records, column, axis=1).astype(np.float32))
    # Equal values are ordered at random: records stand in no order of their own.
    order = np.lexsort((rng.random(len(records)), records[:, column], leaves))
    leaves = leaves[order]
    takers = np.bincount(leaves, minlength=found.counts.size)
    turn = np.arange(order.size) - np.searchsorted(leaves, leaves)
    share = (turn + rng.random(order.size)) / takers[leaves]
    place = np.minimum((share * found.counts[leaves]).astype(np.intp), found.counts[leaves] - 1)
    values = np.empty(order.size)
    values[order] = found.values[found.first[leaves] + place]
    return values
