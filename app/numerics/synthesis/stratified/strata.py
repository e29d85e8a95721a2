"""Strata: regions in which a first synthesis and the original differ, found by classification trees.

Mixing keeps what is linear. What it does not keep is what gives a synthetic table away, and trees find
it. A forest says of every original record how synthetic it looks; a decision tree over the originals
divides them by that, into leaves in which the difference is one and the same. Synthesising anew inside
the leaves therefore mends what the first synthesis lost. The fewer records a leaf has, the more of them
the second synthesis gives away: none has fewer than L.

| symbol | name here | meaning |
| --- | --- | --- |
| X, Y | `original`, `synthetic`, (n, d), (n', d) | NaN for missing |
| L | `least` | originals that each stratum holds at least |
| π | `looks`, (n,) | share of the trees that take an original for synthetic, of those that have not seen it |
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.forests import class_shares, fitted_forest

TREES = 40

CLEAR = 2.0
"""Standard errors by which the trees must beat chance on records that they have not seen."""


class Discrimination(NamedTuple):
    """Probability of each original to be synthetic, (n,), and the accuracy of the classifier.

    where:
        area   area under the curve: ½ when nothing gives a record away
        clear  whether it is above ½ by more than chance
    """

    looks: FloatArray
    area: float
    clear: bool


def default_least(columns: int) -> int:
    """L where nobody says: enough records for the correlations of all columns."""
    return max(40, 3 * columns)


def divided(
    original: FloatArray, looks: FloatArray, least: int, rng: np.random.Generator
) -> Places:
    """The stratum 0, 1, … of each original record, (n,), neighbours in the tree next to each other.

    Every stratum has at least L records, except where the table itself has fewer.
    """
    from sklearn.tree import DecisionTreeRegressor

    narrow = original.astype(np.float32)
    tree = DecisionTreeRegressor(min_samples_leaf=least, random_state=int(rng.integers(2**31)))
    leaves = tree.fit(narrow, looks).apply(narrow)
    numbered: Places = np.unique(leaves, return_inverse=True)[1]
    return numbered


def discriminate(
    original: FloatArray, synthetic: FloatArray, others: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """π of `original` and of `others`, and the area under the curve of telling `synthetic` from `original`.

    `original` must not be what the synthetic records were made from: those have lookalikes among them,
    which makes a record that a tree has not seen look synthetic. Originals are judged by the trees
    that have not seen them, `others` by all.
    """
    from sklearn.metrics import roc_auc_score

    labels = np.repeat([0, 1], [len(original), len(synthetic)])
    both = np.vstack([original, synthetic])
    forest = fitted_forest("classes", both, labels, TREES, rng, out_of_bag=True)
    judged = forest.oob_decision_function_[:, 1]
    elsewhere = class_shares(forest, others)[:, 1] if len(others) else np.empty(0)
    return judged[: len(original)], elsewhere, float(roc_auc_score(labels, judged))


def clearly(area: float, records: int) -> bool:
    """Return whether an area from `records` of either table is above ½ by more than chance."""
    return area > 0.5 + CLEAR * area_error(records)


def area_error(records: int) -> float:
    """Standard error of an area of ½ from `records` of either table [Mann and Whitney]."""
    return math.sqrt((2 * records + 1) / (12 * records**2))
