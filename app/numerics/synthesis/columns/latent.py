"""Latent numbers of a mixed table and their inverse, drawn so that correlations are kept.

A category is an interval of a latent normal variable, as wide as the category is frequent. Putting
every record in the middle of its interval, or anywhere in it, would weaken the correlation with other
columns; so the latent value is drawn from its distribution given the record's other columns, within
the interval. A missing number is drawn in the same way, without an interval. Covariance and draws take
turns (data augmentation; for mixed columns see Hoff, Extending the rank likelihood for semiparametric
copula estimation, Annals of Applied Statistics 1(1), 2007).

| symbol | name here | meaning |
| --- | --- | --- |
| Z | `latent`, (n, d) | normalised numbers and latent values |
| (a, b) | `lower`, `upper`, (n, d) | where a cell may lie; a = b for a number that is given |
| Ω | `precision`, (d, d) | inverse of the correlation matrix of Z |
| z_j given the rest | | N(−Σ_{k≠j} Ω_jk·z_k / Ω_jj, 1/Ω_jj) |
| F | `_shares`, (k + 1,) | cumulated shares of a column's categories in their order |
| (Φ⁻¹(F_c), Φ⁻¹(F_c+1)) | `_interval` | the interval of a category |

A nominal column has no order, so it gets one: that most strongly associated with the other columns. The categories
of a nominal column are put on a line before a method for numbers can carry them. The scores are the first
canonical variate of the column's indicators with everything else, which is the assignment of numbers to categories
that the other columns explain best.

| symbol | name here | meaning |
| --- | --- | --- |
| F | `features`, (n, D) | the other columns: normalised numbers, indicators of frequent categories |
| p_c | `shares`, (k,) | how frequent each category is |
| M | `means`, (k, D) | mean of the white features within each category |
| a | scores, (k,) | maximise Σ p_c·a_c² explained: the leading left singular vector of p^½·M, over p^½ |
"""

from __future__ import annotations

import numpy as np
import scipy
from scipy import linalg, sparse, special

from app.numerics.arrays import FloatArray, Places
from app.numerics.cancellation import checkpoint
from app.numerics.synthesis.moments import centre_and_spread
from app.numerics.tables import MixedTable

ORDERING_RECORDS = 20_000
"""Records at most by which categories are ordered; a category absent from them stands in the middle."""

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
        checkpoint()
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
        checkpoint()
        present = ~np.isnan(values)
        ranks[present, column] = (scipy.stats.rankdata(values[present]) - 0.5) / present.sum() - 0.5
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


SWEEPS = 12
"""The correlations of the test tables are at rest after about eight."""

PART_RECORDS = 16_384
"""A table at least four times as long takes its covariance from a part of about this length."""

SWEEPS_AFTER_PART = 4

RIDGE = 1e-6
"""Added to the covariance before it is inverted: collinear columns have no inverse."""


def augmented(lower: FloatArray, upper: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Z, (n, d), each cell within [lower, upper], which may be infinite; given where both are equal."""
    step = len(lower) // PART_RECORDS
    if step >= 4:
        start = augmented(lower[::step], upper[::step], rng)
        sweeps = SWEEPS_AFTER_PART
    else:
        start = None
        sweeps = SWEEPS
    open_columns = np.flatnonzero((lower < upper).any(axis=0))
    latent = lower.copy()
    for column in open_columns:
        checkpoint()
        latent[:, column] = _drawn(lower[:, column], upper[:, column], 0.0, 1.0, rng)
    for _ in range(sweeps if lower.shape[1] > 1 else 0):
        mean, precision = _mean_and_precision(latent if start is None else start)
        start = None
        for column in open_columns:
            checkpoint()
            weights = -precision[column] / precision[column, column]
            weights[column] = 0.0
            centre = mean[column] + latent @ weights - mean @ weights
            spread = 1 / np.sqrt(precision[column, column])
            latent[:, column] = _drawn(lower[:, column], upper[:, column], centre, spread, rng)
    return latent


def _mean_and_precision(latent: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = latent.mean(axis=0)
    centred = latent - mean
    covariance = centred.T @ centred / len(latent)
    covariance.flat[:: len(covariance) + 1] += RIDGE
    return mean, linalg.inv(covariance)


def _drawn(
    lower: FloatArray,
    upper: FloatArray,
    centre: FloatArray | float,
    spread: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Normal draws with the given centre and spread, each within its interval, by inversion.

    An interval in the upper tail is mirrored to the lower one, where Φ keeps its digits.
    """
    low, high = (lower - centre) / spread, (upper - centre) / spread
    mirrored = low > -high
    start, stop = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    uniform = rng.uniform(np.finfo(float).tiny, 1.0, lower.shape)
    below, above = special.log_ndtr(start), special.log_ndtr(stop)
    # Φ(a) + u·(Φ(b) − Φ(a)), in logarithms so that a far tail does not vanish.
    draw = special.ndtri_exp(np.logaddexp(below + np.log1p(-uniform), above + np.log(uniform)))
    value = centre + spread * np.where(mirrored, -draw, draw)
    within: FloatArray = np.clip(value, lower, upper)
    return within


def as_numbers(table: MixedTable, orders: list[Places], rng: np.random.Generator) -> FloatArray:
    """The table as numbers, (n, p + q): given numbers as they are, everything else drawn.

    `orders` has the categories of each column of codes from first to last. Every numeric column must
    have a value somewhere.
    """
    missing = np.isnan(table.numeric)
    if not missing.any() and not orders:
        return table.numeric
    centre = np.nanmean(table.numeric, axis=0)
    filled = np.where(missing, centre, table.numeric)
    mean, deviation = centre_and_spread(filled)
    # Cells filled with the mean narrow the spread; the cells drawn for them must not.
    deviation = deviation / np.sqrt(1 - missing.mean(axis=0))
    numbers = (filled - mean) / np.where(deviation > 0, deviation, 1.0)
    drawn = missing & (deviation > 0)
    bounds = [(np.where(drawn, -np.inf, numbers), np.where(drawn, np.inf, numbers))]
    bounds += [_interval(codes, order) for codes, order in zip(table.codes.T, orders, strict=True)]
    latent = augmented(
        np.column_stack([lower for lower, _ in bounds]),
        np.column_stack([upper for _, upper in bounds]),
        rng,
    )
    p = table.numeric.shape[1]
    return np.hstack([np.where(drawn, latent[:, :p] * deviation + mean, filled), latent[:, p:]])


def cut(latent: FloatArray, codes: Places, order: Places) -> Places:
    """Categories for synthetic latent values, (rows,): their ranks, cut at the shares of `codes`.

    Ranks rather than the normal quantiles: the shares then come out right to one record whatever
    distribution the method gave the latent values.
    """
    ends = np.rint(_shares(codes, order)[1:] * latent.size).astype(np.intp)
    categories = np.empty(latent.size, dtype=np.intp)
    categories[np.argsort(latent, kind="stable")] = order[
        np.searchsorted(ends, np.arange(latent.size), side="right")
    ]
    return categories


def _shares(codes: Places, order: Places) -> FloatArray:
    """Cumulated shares 0 … 1 of the categories in their order, (k + 1,), among the cells present."""
    counts = np.bincount(codes[codes >= 0], minlength=order.size)[order]
    ends: FloatArray = np.concatenate([[0], np.cumsum(counts)]) / counts.sum()
    return ends


def _interval(codes: Places, order: Places) -> tuple[FloatArray, FloatArray]:
    """Each record's interval of the latent normal variable; unbounded where the category is missing.

    A column of a single category varies no more than a constant number does: its latent value is 0.
    """
    bounds = special.ndtri(_shares(codes, order))
    if np.isinf(bounds).all():
        return np.zeros(codes.size), np.zeros(codes.size)
    place = np.argsort(order)[codes]
    return (
        np.where(codes < 0, -np.inf, bounds[place]),
        np.where(codes < 0, np.inf, bounds[place + 1]),
    )
