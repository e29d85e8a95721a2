"""Mixed tables through any synthesis method: categories, missing values, types, bounds, rounding.

The methods of [hsu2008] are for numbers. Here a categorical column becomes a latent number whose
intervals are its categories (`latent`), goes through the method with the numeric columns, and is cut
at the original's shares again. Which cells of a record are missing is one more categorical column, its
categories the patterns that occur; so patterns return at their rate and with their relation to the
values. No record, and no combination of its categories, is copied.

Numbers of which many are one and the same value (no gain, forty hours, zero children) are kept apart where types are
enforced, since a method that mixes components smears such a value over its neighbours: whether a cell holds it
becomes a category, and the number behind it is drawn like a missing one, from what the other columns say.

Users of synthetic tables expect ages to be whole and shares to stay below one: type, bounds and rounding of a column are
found in the original and enforced. Each of the three acts on a value alone, so nothing else of the original gets in; the
bounds are the smallest and the largest original value, which the release thereby tells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.errors import InvalidTable
from app.numerics.arrays import Flags, FloatArray, Places
from app.numerics.synthesis.columns.latent import as_numbers, category_orders, cut
from app.numerics.synthesis.components import refuse_single_direction
from app.numerics.synthesis.methods import Synthesis, SynthesisMethod
from app.numerics.synthesis.moments import moments
from app.numerics.tables import MixedTable

LEAST_SHARE = 0.4
"""A value held by fewer of the cells present is one value among others."""

MOST_DECIMALS = 10
"""A column that needs more decimals is taken as not rounded."""


def point_mass(values: FloatArray) -> float | None:
    """The value that at least `LEAST_SHARE` of the cells present, (n,), hold, while others vary.

    None for a column with one value only: it is constant, which every method keeps.
    """
    present = values[~np.isnan(values)]
    candidates, counts = np.unique(present, return_counts=True)
    if candidates.size < 2 or counts.max() < LEAST_SHARE * present.size:
        return None
    return float(candidates[counts.argmax()])


def at_mass(values: FloatArray, mass: float) -> Places:
    """1 where a cell holds the mass, 0 where it holds another number, −1 where it is missing, (n,)."""
    return np.where(np.isnan(values), -1, values == mass).astype(np.intp)


@dataclass(frozen=True)
class LatentRule:
    """Bounds and rounding of a column; `decimals` is None for a column not rounded."""

    least: float
    most: float
    decimals: int | None


def rule_of(values: FloatArray) -> LatentRule:
    """The rule that `values` (n,), NaN for missing, keep. Raises ValueError when none is present."""
    present = values[~np.isnan(values)]
    if not present.size:
        raise ValueError("a column without values has no rule")
    return LatentRule(float(present.min()), float(present.max()), _decimals(present))


def enforced(values: FloatArray, rule: LatentRule) -> FloatArray:
    """`values` (n,) rounded and kept within bounds; the bounds themselves are rounded already."""
    rounded = values if rule.decimals is None else np.round(values, rule.decimals)
    return np.clip(rounded, rule.least, rule.most)


def _decimals(present: FloatArray) -> int | None:
    # A few values rule out most candidates; the first one that fits them all is the answer.
    for decimals in range(MOST_DECIMALS + 1):
        if all(np.array_equal(np.round(part, decimals), part) for part in (present[:100], present)):
            return decimals
    return None


@dataclass(frozen=True)
class MixedSynthesis:
    """A synthetic mixed table and what its method reported.

    where:
        rank              directions of the table's own columns, without those added on the way
        missing_patterns  how many there were, the pattern without gaps included
    """

    table: MixedTable
    outcome: Synthesis
    rank: int
    missing_patterns: int

    @property
    def permuted(self) -> int | None:
        """m of the leakage: the components that decide whether a record reappears.

        Columns added for gaps and point masses are permuted too, but they are not released.
        """
        separation = self.outcome.separation
        return None if separation is None else min(separation.permuted, self.rank)


def synthesised(
    table: MixedTable,
    method: SynthesisMethod,
    rng: np.random.Generator,
    *,
    rows: int | None = None,
    components: int | None = None,
    enforce: bool = True,
) -> MixedSynthesis:
    """A synthetic table of `rows` records, n when not said.

    With `enforce` numeric columns keep bounds, rounding and values that many cells share; without it
    the hybrid and the Cholesky method keep the covariance of the numbers exactly where none is missing.
    Raises InvalidTable where a column has no value at all (the caller sets such columns aside), and
    as the method does.
    """
    if table.missing.all(axis=0).any():
        raise InvalidTable("A column without any value cannot be synthesised.")
    rows = rows or table.records
    patterns, pattern_codes = _missing_patterns(table)
    masses = {
        column: mass
        for column, values in enumerate(table.numeric.T)
        if enforce and (mass := point_mass(values)) is not None
    }
    marked = _marked(table, masses, pattern_codes, len(patterns))
    orders = category_orders(marked, rng)
    p, q = table.numeric.shape[1], table.codes.shape[1]
    numbers = as_numbers(marked, orders, rng)
    outcome = method(numbers, rng, rows=rows, components=components)
    rank = outcome.rank if numbers.shape[1] == p + q else moments(numbers[:, : p + q]).rank
    if outcome.separation is not None:
        refuse_single_direction(rank)
    codes = np.empty((rows, len(orders)), dtype=np.intp)
    for column, order in enumerate(orders):
        codes[:, column] = cut(outcome.values[:, p + column], marked.codes[:, column], order)
    numeric = outcome.values[:, :p].copy()
    for column, mass in masses.items():
        held = codes[:, q + list(masses).index(column)] == 1
        numeric[held, column] = mass
    for column in range(p) if enforce else ():
        numeric[:, column] = enforced(numeric[:, column], rule_of(table.numeric[:, column]))
    absent = (
        patterns[codes[:, -1]] if len(patterns) > 1 else patterns[np.zeros(rows, dtype=np.intp)]
    )
    synthetic = MixedTable(
        np.where(absent[:, :p], np.nan, numeric),
        np.where(absent[:, p:], -1, codes[:, :q]),
        table.categories,
    )
    return MixedSynthesis(synthetic, outcome, rank, len(patterns))


def _missing_patterns(table: MixedTable) -> tuple[Flags, Places]:
    """The patterns of missing cells that occur, (patterns, p + q), and which one each record has."""
    patterns, codes = np.unique(table.missing, axis=0, return_inverse=True)
    return patterns, codes.reshape(-1)


def _marked(
    table: MixedTable, masses: dict[int, float], pattern_codes: Places, patterns: int
) -> MixedTable:
    """The table with a column of codes for each point mass and, last, one for the missing pattern.

    Where a cell holds its column's mass, the number behind it is open, as if missing.
    """
    numeric = table.numeric.copy()
    extra = []
    for column, mass in masses.items():
        holds = at_mass(table.numeric[:, column], mass)
        numeric[holds == 1, column] = np.nan
        extra.append(holds)
    categories = (*table.categories, *(2 for _ in masses))
    if patterns > 1:
        extra.append(pattern_codes)
        categories = (*categories, patterns)
    return MixedTable(numeric, np.column_stack([table.codes, *extra]), categories)
