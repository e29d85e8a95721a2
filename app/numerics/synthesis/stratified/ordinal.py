"""Mixed table as one matrix of ordered values, without determined columns, and back.

| symbol | name here | meaning |
| --- | --- | --- |
| X | `values`, (n, d) | numbers, and categories by their place in an order; NaN is missing |
| | `pattern`, (n,) | which cells of a record are missing, as a place in an order of such patterns |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import Flags, FloatArray, Places
from app.numerics.synthesis.columns.latent import category_orders
from app.numerics.synthesis.mixed import rule_of
from app.numerics.synthesis.stratified.dependencies import Dependency, dependencies
from app.numerics.synthesis.stratified.identities import Identity, identities
from app.numerics.tables import MixedTable


@dataclass(frozen=True)
class OrdinalTable:
    """Columns of a mixed table that take part in a synthesis, and the rules for the others.

    where:
        kept          the columns of `values` as columns of the table, numeric ones counted first
        patterns      patterns of missing cells over all columns of the table, (k, p + q)
        orders        the categories of each categorical column of the table, from first to last
        decimals      of each numeric column of the table; None where it is not rounded
    """

    values: FloatArray
    kept: Places
    pattern: Places
    patterns: Flags
    orders: tuple[Places, ...]
    decimals: tuple[int | None, ...]
    identities: tuple[Identity, ...]
    dependencies: tuple[Dependency, ...]

    @property
    def numbers(self) -> int:
        """How many of the table's columns are numeric."""
        return len(self.decimals)

    @property
    def categorical(self) -> Places:
        """The columns of `values` that hold categories."""
        return np.flatnonzero(self.kept >= self.numbers)

    def shown(self, values: FloatArray, pattern: Places) -> FloatArray:
        """`values` (rows, d) with NaN where the pattern says that a cell is missing."""
        return np.where(self.patterns[pattern][:, self.kept], np.nan, values)


def ordinal_table(table: MixedTable, rng: np.random.Generator, *, enforce: bool) -> OrdinalTable:
    """The table without what categories determine and without one column of each linear relation."""
    p, q = table.numeric.shape[1], table.codes.shape[1]
    determined = dependencies(table)
    free = np.setdiff1d(np.arange(p), [each.determined for each in determined])
    linear = tuple(
        Identity(
            int(free[each.total]),
            each.constant,
            tuple((int(free[column]), weight) for column, weight in each.weights),
        )
        for each in identities(table.numeric[:, free])
    )
    left_out = [each.determined for each in determined] + [each.total for each in linear]
    kept = np.setdiff1d(np.arange(p + q), left_out)
    patterns, codes = np.unique(table.missing, axis=0, return_inverse=True)
    marked = MixedTable(
        table.numeric,
        np.column_stack([table.codes, codes.reshape(-1)]),
        (*table.categories, len(patterns)),
    )
    *orders, pattern_order = category_orders(marked, rng)
    places = [_places(column, order) for column, order in zip(table.codes.T, orders, strict=True)]
    values = np.column_stack([table.numeric, *places])[:, kept]
    decimals = tuple(rule_of(column).decimals if enforce else None for column in table.numeric.T)
    pattern = np.argsort(pattern_order)[codes.reshape(-1)]
    return OrdinalTable(
        values, kept, pattern, patterns[pattern_order], tuple(orders), decimals, linear, determined
    )


def mixed_table(
    values: FloatArray, pattern: Places, like: OrdinalTable, categories: tuple[int, ...]
) -> MixedTable:
    """The mixed table of complete synthetic `values` (rows, d) and the missing patterns of its records.

    What was left out is computed back before any cell becomes missing, so that it follows from cells
    that are not shown as well.
    """
    p = like.numbers
    numeric = np.full((len(values), p), np.nan)
    codes = np.zeros((len(values), len(like.orders)), dtype=np.intp)
    for place, column in enumerate(like.kept):
        if column < p:
            numeric[:, column] = values[:, place]
        else:
            codes[:, column - p] = like.orders[column - p][values[:, place].astype(np.intp)]
    for each in like.dependencies:
        found = each.looked_up(codes[:, each.by - p])
        if each.determined < p:
            numeric[:, each.determined] = found
        else:
            codes[:, each.determined - p] = np.where(np.isnan(found), -1, found)
    for identity in like.identities:
        total = identity.computed(numeric)
        decimals = like.decimals[identity.total]
        numeric[:, identity.total] = total if decimals is None else np.round(total, decimals)
    absent = like.patterns[pattern]
    return MixedTable(
        np.where(absent[:, :p], np.nan, numeric), np.where(absent[:, p:], -1, codes), categories
    )


def _places(codes: Places, order: Places) -> FloatArray:
    """Each record's category by its place in the order, (n,), NaN where missing."""
    return np.where(codes < 0, np.nan, np.argsort(order)[codes].astype(np.float64))
