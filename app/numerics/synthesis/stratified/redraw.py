"""Redraw of categorical columns from records that are alike in all other columns.

One order of the categories cannot tell all that a column has to do with others: there is no line on
which husbands stand right both by sex and by age. So the column is predicted from the rest by a tree,
and inside each leaf the synthetic records get the categories of the originals there, permuted. A leaf
holds at least `LEAF_ORIGINALS`, so that no category is tied to a record.

| symbol | name here | meaning |
| --- | --- | --- |
| X, Y | `original`, `synthetic`, (n, d), (n', d) | categories by their place in an order, NaN for missing |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.parallel import map_on_cores

LEAF_ORIGINALS = 20

FEWEST_CATEGORIES = 3
"""Two categories stand on a line whatever their order."""

CATEGORY_RECORDS = 5
"""Categories of fewer records on average are not learnt but remembered."""

TREE_RECORDS = 20_000
"""Originals that the tree learns from, and that its leaves hold, at most."""


def redrawn(
    original: FloatArray, synthetic: FloatArray, columns: Places, rng: np.random.Generator
) -> FloatArray:
    """`synthetic` with `columns` drawn again, one after the other; missing cells stay missing."""
    made = synthetic.copy()
    trees = _trees(original, columns, rng)
    for column, found in zip(columns, trees, strict=True):
        wanted = np.flatnonzero(~np.isnan(made[:, column]))
        if found is not None and wanted.size:
            others = np.arange(original.shape[1]) != column
            made[wanted, column] = _drawn_in_leaves(found, made[wanted][:, others], rng)
    return made


def redrawable(original: FloatArray, categorical: Places) -> Places:
    """Those of the `categorical` columns that have three categories or more, each of five records on average."""

    def several(values: FloatArray) -> bool:
        known = values[~np.isnan(values)]
        return FEWEST_CATEGORIES <= np.unique(known).size <= known.size / CATEGORY_RECORDS

    return np.array([each for each in categorical if several(original[:, each])], dtype=np.intp)


class LeafTree(NamedTuple):
    """A tree that predicts a column from the others, and the originals in its leaves.

    where:
        donors      (n,), the leaf of each original
        categories  (n,), what they have in the column
    """

    tree: Any
    donors: Places
    categories: FloatArray


def _trees(
    original: FloatArray, columns: Places, rng: np.random.Generator
) -> list[LeafTree | None]:
    """The tree of each column; None where too few originals have it."""
    chosen = [rng.permutation(np.flatnonzero(~np.isnan(original[:, each]))) for each in columns]
    seeds = rng.integers(2**31, size=len(columns)).tolist()

    def learnt(place: int) -> LeafTree | None:
        from sklearn.tree import DecisionTreeClassifier

        if chosen[place].size < 2 * LEAF_ORIGINALS:
            return None
        records = original[chosen[place][:TREE_RECORDS]]
        features = np.delete(records, columns[place], axis=1).astype(np.float32)
        categories = records[:, columns[place]]
        tree = DecisionTreeClassifier(min_samples_leaf=LEAF_ORIGINALS, random_state=seeds[place])
        donors = tree.fit(features, categories.astype(np.intp)).apply(features)
        return LeafTree(tree, donors, categories)

    return map_on_cores(learnt, range(len(columns)))


def _drawn_in_leaves(found: LeafTree, asked: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A category for each row of `asked`: those of its leaf's originals, permuted, as often as needed."""
    tree, donors, categories = found
    takers = tree.apply(asked.astype(np.float32))
    # Donors lie leaf by leaf in random order; the i-th taker of a leaf gets its i-th donor, round and round.
    shuffled = rng.permutation(donors.size)
    by_leaf = shuffled[np.argsort(donors[shuffled], kind="stable")]
    counts = np.bincount(donors, minlength=tree.tree_.node_count)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    order = rng.permutation(takers.size)
    order = order[np.argsort(takers[order], kind="stable")]
    leaves = takers[order]
    turn = np.arange(order.size) - np.searchsorted(leaves, leaves)
    drawn = np.empty(order.size)
    drawn[order] = categories[by_leaf[first[leaves] + turn % counts[leaves]]]
    return drawn
