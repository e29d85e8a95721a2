"""Stratified synthesis: decouple, permute and couple normal scores of ranks, per stratum.

[hsu2008] mixes values, which keeps covariances and loses what is not linear; heavy tails leave the
range. Here a published method works on normal scores (`scores`), first on the whole table, then inside
the strata in which trees find that result to differ from the original (`strata`). In tables that are too small for
many strata the ranks of numeric columns are repaired among records alike in all else (`rank_repair`), and columns of several
categories are drawn again there (`redraw`) unless that makes the two easier to tell apart.

| symbol | name here | meaning |
| --- | --- | --- |
| X | `table.values`, (n, d) | ordered values |
| Z | `latent`, (n, d + 1) | normal scores, equal values filled given the record's other columns; last the missing pattern |
| L | `least` | originals that each stratum holds at least |
| m_s | `permuted` | components that are permuted independently inside stratum s |
| max(20, L/2) | `leaf` | originals among which numbers are repaired at least |
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from app.errors import InvalidTable
from app.numerics.arrays import FloatArray, Places
from app.numerics.cancellation import checkpoint
from app.numerics.synthesis.columns.latent import augmented
from app.numerics.synthesis.columns.scores import (
    Quantiles,
    quantiles_of,
    score_intervals,
    scores_of_ranks,
)
from app.numerics.synthesis.components import MOST_PASSES, refuse_single_direction
from app.numerics.synthesis.methods import Synthesis
from app.numerics.synthesis.moments import moments
from app.numerics.synthesis.stratified.bundles import BundledTable, bundled
from app.numerics.synthesis.stratified.dependencies import (
    Equality,
    equalised,
    equalities,
    still_equal,
)
from app.numerics.synthesis.stratified.identities import balanced
from app.numerics.synthesis.stratified.ordinal import OrdinalTable, mixed_table, ordinal_table
from app.numerics.synthesis.stratified.rank_repair import repairable, repaired_ranks
from app.numerics.synthesis.stratified.redraw import LEAF_ORIGINALS, redrawable, redrawn
from app.numerics.synthesis.stratified.strata import (
    Discrimination,
    area_error,
    clearly,
    discriminate,
    divided,
)
from app.numerics.tables import MixedTable

ROUNDS = 2
"""Strata are sought at most so often, each time where the last synthesis still differs."""

STRATUM_PASSES = 10
"""Passes of the search for independent components inside a stratum: with so few records more find nothing."""

FEWEST_COMPARED = 20
"""Among fewer records no difference is clear."""

MOST_COMPARED = 4_000
"""Records of the strata by which the course for a large table is estimated."""


FEWEST_COUNTED = 1_000
"""Synthetic records that are looked at for records that return."""

CHANCE = 2.0
"""Standard errors of the difference of two such counts, as Poisson's fall, by which more records must return to be more."""


class Decoupler(Protocol):
    """PRIMP or the hybrid: a method that permutes components."""

    def __call__(
        self,
        values: FloatArray,
        rng: np.random.Generator,
        *,
        rows: int | None = None,
        components: int | None = None,
        passes: int = MOST_PASSES,
    ) -> Synthesis: ...


@dataclass(frozen=True)
class Stratum:
    """The originals of one stratum, and in how many directions their released columns vary."""

    records: Places
    permuted: int


@dataclass(frozen=True)
class Recipe:
    """Everything that rows are drawn from, any number of times.

    where:
        bundled     the original, columns that repeat together tied up as one category
        table       the ordered values of that
        directions  in which the columns of `table.values` vary
        quantiles   of each column of `table.values`
        equalities  columns of `table.values` that are equal in most records
        leaf        originals among which numbers are repaired at least
        repaired    the columns of `table.values` whose ranks are repaired
        redrawn     the columns of `table.values` that are drawn again
        difference  area under the curve of telling rows made from one half from the other half
    """

    bundled: BundledTable
    table: OrdinalTable
    inner: Decoupler
    latent: FloatArray
    strata: tuple[Stratum, ...]
    directions: int
    quantiles: tuple[Quantiles, ...]
    equalities: tuple[Equality, ...]
    leaf: int
    repaired: Places
    redrawn: Places
    difference: float


def recipe(
    table: MixedTable,
    inner: Decoupler,
    rng: np.random.Generator,
    *,
    least: int,
    enforce: bool = True,
) -> Recipe:
    """The stratified synthesis of `table`, each stratum with at least `least` originals.

    Raises InvalidTable where a column has no value at all, for fewer than two records, and where
    the columns vary in fewer than two directions.
    """
    if table.missing.all(axis=0).any():
        raise InvalidTable("A column without any value cannot be synthesised.")
    if table.records < 2:
        raise InvalidTable(
            "A synthesis needs at least two records.", records=table.records, needed=2
        )
    tied = bundled(table, rng)
    ordinal = ordinal_table(tied.cells, rng, enforce=enforce)
    latent = _latent(ordinal, rng)
    everyone = np.arange(table.records)
    whole = Stratum(everyone, _directions(ordinal, latent, everyone))
    refuse_single_direction(whole.permuted)
    quantiles = tuple(
        quantiles_of(column, interpolated=numeric, rounded=enforce)
        for column, numeric in zip(ordinal.values.T, ordinal.kept < ordinal.numbers, strict=True)
    )
    numeric = np.flatnonzero(ordinal.kept < ordinal.numbers)
    none = np.array([], dtype=np.intp)
    made = Recipe(
        tied, ordinal, inner, latent, (whole,), whole.permuted, quantiles,
        equalities(ordinal.values, numeric), max(LEAF_ORIGINALS, least // 2), none, none, 0.5,
    )  # fmt: skip
    found = _difference(made, rng)
    for _ in range(ROUNDS):
        if not found.clear or table.records < 2 * least:
            break
        labels = divided(ordinal.values, found.looks, least, rng)
        made = replace(made, strata=_joined(labels, ordinal, latent))
        found = _difference(made, rng)
        if table.records > MOST_COMPARED:
            break  # the strata are many already
    if table.records <= MOST_COMPARED:  # larger tables have strata enough
        other = replace(made, repaired=repairable(ordinal.values, numeric, made.leaf))
        if other.repaired.size and not _returns_more(other, made, rng):
            made, found = other, _difference(other, rng)
    # Numbers return exactly as often as they came, those of bundles too: these are not drawn again.
    categorical = ordinal.kept[ordinal.categorical] < ordinal.numbers + table.codes.shape[1]
    again = redrawable(ordinal.values, ordinal.categorical[categorical])
    if again.size and table.records >= FEWEST_COMPARED:
        other = replace(made, redrawn=again)
        otherwise = _difference(other, rng)
        # Categories drawn again contradict other columns less, which an area hardly shows: they stay unless it
        # is worse by more than the error of a difference. Of areas below ½ none is better than another.
        worse = max(otherwise.area, 0.5) - max(found.area, 0.5)
        if worse <= math.sqrt(2) * area_error(min(table.records, MOST_COMPARED)):
            made, found = other, otherwise
    return replace(made, difference=found.area)


def drawn(made: Recipe, rows: int, rng: np.random.Generator) -> Iterator[MixedTable]:
    """`rows` records in tables of at most n: full rounds of all strata, the last one cut.

    In a full round every category that was not drawn again, and every value that several records
    share, returns as often as it came. Of the last round, records are taken evenly from the strata.
    """
    n = len(made.table.values)
    for start in range(0, rows, n):
        groups = [stratum.records for stratum in made.strata]
        values, pattern = _round(made, groups, np.arange(n), rng)
        size = min(n, rows - start)
        if size < n:
            values, pattern = values[:size], pattern[:size]
        cells = mixed_table(
            _totalled(made, _restored(made, values, pattern, rng), pattern),
            pattern,
            made.table,
            made.bundled.cells.categories,
        )
        yield made.bundled.opened(cells)


def _difference(made: Recipe, rng: np.random.Generator) -> Discrimination:
    """Two-sample difference between rows made from one half of the records and the other half, both ways.

    Of a large table some of the strata are looked at; records outside are judged by what is learnt there.
    """
    n = len(made.table.values)
    if n < FEWEST_COMPARED:
        return Discrimination(np.full(n, 0.5), 0.5, False)
    halves = [
        np.array_split(rng.permutation(stratum.records)[:MOST_COMPARED], 2)
        for stratum in _some(made.strata, rng)
    ]
    original = made.table.shown(made.table.values, made.table.pattern)
    outside = np.ones(n, dtype=np.bool_)
    looks, areas = np.zeros(n), []
    for used, other in ((0, 1), (1, 0)):
        asked = np.concatenate([half[other] for half in halves])
        donors = np.setdiff1d(np.arange(n), asked, assume_unique=True)
        groups = [half[used] for half in halves]
        synthetic = made.table.shown(*_round(made, groups, donors, rng))
        outside[asked] = False
        rest = np.flatnonzero(outside) if used else np.empty(0, dtype=np.intp)
        looks[asked], looks[rest], area = discriminate(
            original[asked], synthetic, original[rest], rng
        )
        areas.append(area)
    area = float(np.mean(areas))
    return Discrimination(looks, area, clearly(area, int(n - outside.sum())))


def _returns_more(other: Recipe, made: Recipe, rng: np.random.Generator) -> bool:
    """Return whether more records of the original return, cell by cell, in rounds of `other` than in those of `made`.

    Single values count as equal here although they are moved before they leave.
    """
    n = len(made.table.values)
    groups = [stratum.records for stratum in made.strata]
    original = set(map(bytes, np.nan_to_num(made.table.values, nan=np.inf)))

    def returned(each: Recipe) -> int:
        values, pattern = _round(each, groups, np.arange(n), rng)
        shown = np.nan_to_num(each.table.shown(values, pattern), nan=np.inf)
        return sum(bytes(row) in original for row in shown)

    rounds = range(-(-FEWEST_COUNTED // n))
    before, after = (sum(returned(each) for _ in rounds) for each in (made, other))
    return after - before > CHANCE * math.sqrt(before + after)


def _some(strata: tuple[Stratum, ...], rng: np.random.Generator) -> list[Stratum]:
    """Strata in random order, as many as hold `MOST_COMPARED` records."""
    order = [strata[place] for place in rng.permutation(len(strata))]
    before = np.cumsum([0, *(len(stratum.records) for stratum in order[:-1])])
    return [stratum for stratum, seen in zip(order, before, strict=True) if seen < MOST_COMPARED]


def _latent(table: OrdinalTable, rng: np.random.Generator) -> FloatArray:
    """Z: the score of each cell within its interval, drawn given the record's other cells."""
    columns = [*table.values.T, table.pattern.astype(np.float64)]
    intervals = [score_intervals(column) for column in columns]
    return augmented(
        np.column_stack([lower for lower, _ in intervals]),
        np.column_stack([upper for _, upper in intervals]),
        rng,
    )


def _round(
    made: Recipe, groups: Sequence[Places], donors: Places, rng: np.random.Generator
) -> tuple[FloatArray, Places]:
    """As many complete records as the groups have, in random order, and their missing patterns.

    Numbers that are repaired and categories that are drawn again come from `donors`.
    """
    parts = [_within(made, group, rng) for group in groups]
    # Every group is spread over the whole round, so that any first rows hold its share of them.
    spread = [(rng.permutation(len(part)) + rng.random(len(part))) / len(part) for part in parts]
    together = np.vstack(parts)[np.argsort(np.concatenate(spread), kind="stable")]
    values, pattern = together[:, :-1], together[:, -1].astype(np.intp)
    if made.repaired.size:
        shown = made.table.shown(values, pattern)
        again = repaired_ranks(made.table.values[donors], shown, made.repaired, made.leaf, rng)
        values = np.where(np.isnan(again), values, again)
    if made.redrawn.size:
        shown = made.table.shown(values, pattern)
        again = redrawn(made.table.values[donors], shown, made.redrawn, rng)
        values = np.where(np.isnan(again), values, again)
    if made.equalities:
        shown = made.table.shown(values, pattern)
        again = equalised(made.table.values[np.concatenate(groups)], shown, made.equalities)
        values = np.where(np.isnan(again), values, again)
    return values, pattern


def _within(made: Recipe, records: Places, rng: np.random.Generator) -> FloatArray:
    """As many records as the stratum has, (n_s, d + 1): its own values in the order of new scores."""
    checkpoint()
    originals, scores = _scores(made.table, made.latent, records)
    latent = made.latent[records]
    passes = MOST_PASSES if len(made.strata) == 1 else STRATUM_PASSES
    try:
        coupled = made.inner(scores, rng, rows=len(records), passes=passes).values
    except InvalidTable:  # half of a stratum may vary in one direction only: each column on its own
        coupled = rng.permuted(scores, axis=0)
    order = np.argsort(coupled, axis=0, kind="stable")
    # A cell that is missing has no value of its own; where its score stands, its neighbour's value goes.
    values = np.empty_like(originals)
    for column in range(originals.shape[1]):
        known = _filled(originals[:, column], latent[:, column])
        values[order[:, column], column] = np.sort(known)
    return values


def _filled(values: FloatArray, latent: FloatArray) -> FloatArray:
    """`values` (n,) with each missing one replaced by the present one of the nearest score; 0 if none is."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    if missing.all():
        return np.zeros_like(values)
    present = np.flatnonzero(~missing)
    present = present[np.argsort(latent[present], kind="stable")]
    middles = (latent[present][1:] + latent[present][:-1]) / 2
    filled = values.copy()
    filled[missing] = values[present[np.searchsorted(middles, latent[missing])]]
    return filled


def _restored(
    made: Recipe, values: FloatArray, pattern: Places, rng: np.random.Generator
) -> FloatArray:
    """Numbers by the quantile functions of the whole table, at their ranks among the cells to be shown.

    Inside a stratum values are the stratum's own; here single values are moved to between their
    neighbours, and rows beyond or below a full round get the marginals of the original too.
    """
    absent = made.table.patterns[pattern][:, made.table.kept]
    restored = values.copy()
    for column in np.flatnonzero(made.table.kept < made.table.numbers):
        shown = np.flatnonzero(~absent[:, column])
        shown = shown[np.argsort(values[shown, column], kind="stable")]
        restored[shown, column] = made.quantiles[column].at_ranks(
            np.arange(shown.size), shown.size, rng
        )
    return still_equal(restored, values, made.equalities)


def _totalled(made: Recipe, restored: FloatArray, pattern: Places) -> FloatArray:
    """`restored` with the parts of totals in places that give the totals the original's distribution.

    Only records that show all columns of a linear relation, and those that go with them, take part.
    """
    found = made.table.identities
    if not found:
        return restored
    kept, original = made.table.kept, made.bundled.cells.numeric
    together: dict[int, list[int]] = {}
    for pair in made.equalities:
        leader, follower = (int(kept[column]) for column in pair)
        joint = together.get(leader, [leader]) + together.get(follower, [follower])
        together |= dict.fromkeys(joint, joint)
    parts = [part for each in found for part in dict(each.weights)]
    related = [column for part in parts for column in together.get(part, [part])]
    related += [each.total for each in found]
    complete = np.flatnonzero(~made.table.patterns[pattern][:, related].any(axis=1))
    if not complete.size:
        return restored
    numeric = np.flatnonzero(kept < made.table.numbers)
    values = np.full((complete.size, made.table.numbers), np.nan)
    values[:, kept[numeric]] = restored[np.ix_(complete, numeric)]
    totalled = restored.copy()
    moved = balanced(values, original, found, together)
    totalled[np.ix_(complete, numeric)] = moved[:, kept[numeric]]
    return totalled


def _joined(labels: Places, table: OrdinalTable, latent: FloatArray) -> tuple[Stratum, ...]:
    """The strata of `labels` (n,), each joined to its neighbour where it varies in one direction only.

    Permuting a single component would release the records of a stratum as they are.
    """

    def stratum(*groups: Places) -> Stratum:
        records = np.concatenate(groups)
        return Stratum(records, _directions(table, latent, records))

    found: list[Stratum] = []
    for group in np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1]):
        if found and found[-1].permuted < 2:
            found.append(stratum(found.pop().records, group))
        else:
            found.append(stratum(group))
    if len(found) > 1 and found[-1].permuted < 2:
        last = found.pop()
        found.append(stratum(found.pop().records, last.records))
    return tuple(found)


def _directions(table: OrdinalTable, latent: FloatArray, records: Places) -> int:
    """In how many directions the released columns vary among these records."""
    checkpoint()
    released = _scores(table, latent, records)[1][:, :-1]
    return moments(released).rank if released.any() else 0


def _scores(
    table: OrdinalTable, latent: FloatArray, records: Places
) -> tuple[FloatArray, FloatArray]:
    """Values with their missing pattern last, and normal scores of their ranks among these records.

    Scores of a column that does not vary among them would be ties broken at random; they are 0.
    """
    values = np.column_stack([table.values[records], table.pattern[records]])
    scores = scores_of_ranks(latent[records])
    low = np.where(np.isnan(values), np.inf, values).min(axis=0)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    scores[:, low >= high] = 0.0
    return values, scores
