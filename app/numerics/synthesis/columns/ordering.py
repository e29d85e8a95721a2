"""An order of the categories of a column: the one most strongly associated with the other columns.

The categories of a nominal column are put on a line before a method for numbers can carry them. The
scores are the first canonical variate of the column's indicators with everything else, which is the
assignment of numbers to categories that the other columns explain best.

| symbol | name here | meaning |
| --- | --- | --- |
| F | `features`, (n, D) | the other columns: normalised numbers, indicators of frequent categories |
| p_c | `shares`, (k,) | how frequent each category is |
| M | `means`, (k, D) | mean of the white features within each category |
| a | scores, (k,) | maximise Σ p_c·a_c² explained: the leading left singular vector of p^½·M, over p^½ |
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse, stats

from app.numerics.arrays import FloatArray, Places
from app.numerics.tables import MixedTable

ORDERING_RECORDS = 20_000
"""The order is found on at most so many records; a category absent from them stands in the middle."""

MOST_FEATURES = 256


def category_orders(table: MixedTable, rng: np.random.Generator) -> list[Places]:
    """For each column of codes its categories from first to last, each (k,)."""
    if table.records > ORDERING_RECORDS:
        table = table.taken(rng.permutation(table.records)[:ORDERING_RECORDS])
    per_column = max(2, MOST_FEATURES // max(1, len(table.categories)))
    numbers = _filled_numbers(table.numeric)
    indicators = [
        _indicators(codes, categories, per_column)
        for codes, categories in zip(table.codes.T, table.categories, strict=True)
    ]
    orders = []
    for column, categories in enumerate(table.categories):
        others = indicators[:column] + indicators[column + 1 :]
        scores = _scores(np.hstack([numbers, *others]), table.codes[:, column], categories)
        orders.append(np.argsort(scores, kind="stable"))
    return orders


def _scores(features: FloatArray, codes: Places, categories: int) -> FloatArray:
    """a, (k,): numbers for the categories; those of the codes where the features tell nothing."""
    present = codes >= 0
    counts = np.bincount(codes[present], minlength=categories).astype(np.float64)
    as_they_come = np.arange(categories, dtype=np.float64)
    if features.shape[1] == 0 or not present.any():
        return as_they_come
    features = features[present] - features[present].mean(axis=0)
    members = sparse.csr_array(
        (np.ones(len(features)), (codes[present], np.arange(len(features)))),
        shape=(categories, len(features)),
    )
    sums = members @ features
    spectrum, axes = linalg.eigh(features.T @ features / len(features))
    kept = spectrum > max(1e-9 * spectrum[-1], 1e-12)  # features are of unit size
    if not kept.any():
        return as_they_come
    white = sums @ (axes[:, kept] / np.sqrt(spectrum[kept]))
    roots = np.sqrt(np.maximum(counts, 1.0))  # sums/counts·sqrt(counts) = sums/sqrt(counts)
    leading = linalg.svd(white / roots[:, None], full_matrices=False)[0][:, 0]
    scores: FloatArray = leading / roots
    return scores


def _filled_numbers(numeric: FloatArray) -> FloatArray:
    """Numeric columns as normalised ranks, missing ones in the middle; no column dominates by its scale."""
    ranks = np.zeros_like(numeric)
    for column, values in enumerate(numeric.T):
        present = ~np.isnan(values)
        ranks[present, column] = (stats.rankdata(values[present]) - 0.5) / present.sum() - 0.5
    return ranks


def _indicators(codes: Places, categories: int, most: int) -> FloatArray:
    """(n, min(most, k)) zeros and ones for the most frequent categories.

    A missing cell counts as its expectation: that it is missing must not tell one category apart,
    least of all those of the column that says which cells are missing.
    """
    counts = np.bincount(codes[codes >= 0], minlength=categories)
    frequent = np.argsort(-counts, kind="stable")[:most]
    indicators: FloatArray = (codes[:, None] == frequent).astype(np.float64)
    indicators[codes < 0] = counts[frequent] / max(1, counts.sum())
    return indicators
