"""Fidelity of a swap: divergence of joint distributions, and decision-tree accuracy [li2004, eq. 2, table 4].

| symbol | name | meaning |
|---|---|---|
| P, P̃ | counts / N | joint distribution of (x_j, y) before and after |
| D(P, P̃) | `i_divergence` | Σ P log(P / P̃), in nats |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import IntArray
from app.numerics.cancellation import checkpoint

SMALLEST_LEAF = 10
"""Records in a leaf of the tree; at this size the tree errs on the census data as C4.5 does."""


@dataclass(frozen=True)
class Divergence:
    """D(P, P̃) of one pair; infinite when a combination vanished, `vanished` counts those."""

    value: float
    vanished: int


def i_divergence(
    attribute: IntArray,
    before: IntArray,
    after: IntArray,
    *,
    attribute_after: IntArray | None = None,
) -> Divergence:
    """Σ P log(P / P̃) over the combinations of an attribute and the confidential one [li2004, eq. 2].

    All arrays hold N codes 0 …; `attribute_after` is given when the other attribute was swapped, too.
    A combination that occurred before and no longer does makes the sum infinite, as the formula says.
    """
    other = attribute if attribute_after is None else attribute_after
    width = int(max(before.max(initial=0), after.max(initial=0))) + 1
    cells = (int(max(attribute.max(initial=0), other.max(initial=0))) + 1) * width
    original = np.bincount(attribute * width + before, minlength=cells)
    perturbed = np.bincount(other * width + after, minlength=cells)
    occurs = original > 0
    vanished = int(np.count_nonzero(occurs & (perturbed == 0)))
    if vanished:
        return Divergence(float("inf"), vanished)
    p, q = original[occurs] / len(before), perturbed[occurs] / len(before)
    # A sum of rounded terms may fall a little below 0, which no divergence is.
    return Divergence(max(float(np.sum(p * np.log(p / q))), 0.0), 0)


@dataclass(frozen=True)
class TreeFit:
    """Share of records that a cross-validated tree classifies wrongly, and its size on all records."""

    error: float
    leaves: int


def tree_fit(attributes: Sequence[IntArray], labels: IntArray, *, folds: int = 10) -> TreeFit:
    """Error of a pruned decision tree by stratified cross-validation on the data as given.

    As in [li2004, table 4] the labels of the held-out fold are those of the released data. Departs
    from [li2004]: C4.5's multi-way splits and error-based pruning are replaced by binary splits on
    entropy and by a smallest leaf. Fewer folds are made when a category has fewer records; with a
    category of a single record ValueError.
    """
    from sklearn.model_selection import StratifiedKFold
    from sklearn.tree import DecisionTreeClassifier

    smallest = int(np.bincount(labels)[np.unique(labels)].min())
    if smallest < 2:
        raise ValueError("every category needs two records")
    table = np.column_stack(attributes).astype(np.float32)
    tree = DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=SMALLEST_LEAF, random_state=0
    )
    splits = StratifiedKFold(min(folds, smallest), shuffle=True, random_state=0)
    predicted = np.empty_like(labels)
    for training, testing in splits.split(table, labels):
        checkpoint()
        predicted[testing] = tree.fit(table[training], labels[training]).predict(table[testing])
    checkpoint()
    return TreeFit(float(np.mean(predicted != labels)), int(tree.fit(table, labels).get_n_leaves()))
