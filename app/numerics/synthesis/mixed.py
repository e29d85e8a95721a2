"""Mixed tables through any of the five methods: categories, missing values, types, bounds, rounding.

The methods of [hsu2008] are for numbers. Here a categorical column becomes a latent number whose
intervals are its categories (`ordering`, `augmentation`), goes through the method with the numeric
columns, and is cut at the original's shares again. Which cells of a record are missing is one more
categorical column, its categories the patterns that occur; so patterns return at their rate and with
their relation to the values. No cell and no combination of categories is copied from a record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from app.errors import InvalidTable
from app.numerics.synthesis.augmentation import augmented
from app.numerics.synthesis.enforcement import enforced, rule_of
from app.numerics.synthesis.moments import centre_and_spread
from app.numerics.synthesis.ordering import category_orders
from app.numerics.synthesis.outcome import Method, Synthesis
from app.numerics.tables import MixedTable


@dataclass(frozen=True)
class MixedSynthesis:
    """A synthetic mixed table, what its method reported, and how many missing patterns there were."""

    table: MixedTable
    outcome: Synthesis
    missing_patterns: int


def synthesised(
    table: MixedTable,
    method: Method,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,
    enforce: bool = True,
) -> MixedSynthesis:
    """A synthetic table of `rows` records, n when not said.

    With `enforce` numeric columns keep bounds and rounding; without it the hybrid and the Cholesky
    method keep the covariance of the numbers exactly where none is missing. Raises InvalidTable where
    a column has no value at all (the caller sets such columns aside), and as the method does.
    """
    if table.missing.all(axis=0).any():
        raise InvalidTable("A column without any value cannot be synthesised.")
    rows = rows or table.records
    patterns, pattern_codes = _missing_patterns(table)
    marked = _with_codes(table, pattern_codes, len(patterns)) if len(patterns) > 1 else table
    orders = category_orders(marked, rng)
    outcome = method(_as_numbers(marked, orders, rng), rng, rows=rows, components=components)
    numeric, latent = np.split(outcome.values, [table.numeric.shape[1]], axis=1)
    codes = np.empty((rows, latent.shape[1]), dtype=np.intp)
    for column, order in enumerate(orders):
        codes[:, column] = _cut(latent[:, column], marked.codes[:, column], order)
    if enforce:
        columns = [
            enforced(values, rule_of(table.numeric[:, j])) for j, values in enumerate(numeric.T)
        ]
        numeric = np.column_stack(columns) if columns else numeric
    absent = np.zeros((rows, table.missing.shape[1]), dtype=np.bool_)
    if len(patterns) > 1:
        absent = patterns[codes[:, -1]]
        codes = codes[:, :-1]
    elif len(patterns) == 1:
        absent[:] = patterns[0]
    without_numbers, without_codes = np.split(absent, [table.numeric.shape[1]], axis=1)
    synthetic = MixedTable(
        np.where(without_numbers, np.nan, numeric),
        np.where(without_codes, -1, codes),
        table.categories,
    )
    return MixedSynthesis(synthetic, outcome, len(patterns))


def _missing_patterns(table: MixedTable) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """The patterns of missing cells that occur, (patterns, p + q), and which one each record has."""
    patterns, codes = np.unique(table.missing, axis=0, return_inverse=True)
    return patterns, codes.reshape(-1)


def _with_codes(table: MixedTable, codes: NDArray[np.intp], categories: int) -> MixedTable:
    return MixedTable(
        table.numeric, np.column_stack([table.codes, codes]), (*table.categories, categories)
    )


def _as_numbers(
    table: MixedTable, orders: list[NDArray[np.intp]], rng: np.random.Generator
) -> NDArray[np.float64]:
    """The table as numbers, (n, p + q): given numbers as they are, everything else drawn."""
    missing = np.isnan(table.numeric)
    if not missing.any() and not orders:
        return table.numeric
    centre = np.nanmean(table.numeric, axis=0)
    filled = np.where(missing, centre, table.numeric)
    mean, deviation = centre_and_spread(filled)
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


def _shares(codes: NDArray[np.intp], order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Cumulated shares 0 … 1 of the categories in their order, (k + 1,), among the cells present."""
    counts = np.bincount(codes[codes >= 0], minlength=order.size)[order]
    ends: NDArray[np.float64] = np.concatenate([[0], np.cumsum(counts)]) / counts.sum()
    return ends


def _interval(
    codes: NDArray[np.intp], order: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


def _cut(
    latent: NDArray[np.float64], codes: NDArray[np.intp], order: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Categories for synthetic latent values, (rows,): their ranks, cut at the original's shares.

    Ranks rather than the normal quantiles: the shares then come out right to one record whatever
    distribution the method gave the latent values.
    """
    ends = np.rint(_shares(codes, order)[1:] * latent.size).astype(np.intp)
    categories = np.empty(latent.size, dtype=np.intp)
    categories[np.argsort(latent, kind="stable")] = order[
        np.searchsorted(ends, np.arange(latent.size), side="right")
    ]
    return categories
