"""A mixed table as numbers and back: categories are intervals of a latent normal variable.

| symbol | name here | meaning |
| --- | --- | --- |
| F | `_shares`, (k + 1,) | cumulated shares of a column's categories in their order |
| (Φ⁻¹(F_c), Φ⁻¹(F_c+1)) | `_interval` | the interval of a category |
"""

from __future__ import annotations

import numpy as np
from scipy import special

from app.numerics.arrays import FloatArray, Places
from app.numerics.synthesis.columns.augmentation import augmented
from app.numerics.synthesis.moments import centre_and_spread
from app.numerics.tables import MixedTable


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
