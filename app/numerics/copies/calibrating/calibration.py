"""The calibration of a(v): what rows tell of how numbers and categories depend on each other.

| here | meaning |
|---|---|
| K, G, S, g, P, k | as in `applied` |
| determined | a number of which the record leaves no more than rounding: it adds nothing to the record, and is not divided by |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.numerics.arrays import Codes, Flags, FloatArray, Places
from app.numerics.copies.calibrating.applied import Calibration, left_everywhere
from app.numerics.copies.calibrating.association import (
    Association,
    association,
    centred,
    indicators,
)
from app.numerics.copies.calibrating.cell_attack import CellRows
from app.numerics.copies.calibrating.cells import record_cells
from app.numerics.copies.calibrating.joining import (
    joined_columns,
    judged_categories,
    rows_looked_at,
    telling_together,
    told_by_pairs,
)
from app.numerics.copies.calibrating.learnt import GRID, Learnt, learnt
from app.numerics.copies.shapes.row_moments import row_moments, towards, within
from app.numerics.copies.shapes.shape import covariance_shape, relative_spectrum, rows_for_a_shape

DETERMINED = 0.9
"""Adjusted R² given the categories from which on a number travels with the record."""

ROUNDING = 1e-10
"""Share of a travelling number's variance below which what the record leaves of it is rounding."""

CELL_ROWS = 16_384
MOST_CELLS = 32
LEAST_IN_A_CELL = 64
CELL_WORK = MOST_CELLS * 40**2
"""Cells times squared numbers, at most; four cells are always affordable."""

BINS = 16
"""Of a number that travels with the record and is not determined by it."""

LISTED = 64
FREQUENT = 0.01
"""Categories that are attacked by cells: so many at most, and so frequent at least."""


def travelling_numbers(found: Association) -> tuple[int, ...]:
    """The places of the numbers that the categories determine."""
    return tuple(np.flatnonzero(found.explained >= DETERMINED).tolist())


def calibrated(
    numbers: FloatArray,
    codes: Codes,
    sizes: Sequence[int],
    shape: Callable[[], FloatArray] | None = None,
) -> Calibration:
    """The calibration by rows of numbers (n, d), NaN where missing, and codes (n, c) below `sizes`.

    `shape` gives `rows_shape` of the numbers where somebody makes it meanwhile.
    """
    rows, found = _associated(_Rows(numbers, codes, sizes, len(sizes)))
    travelling = travelling_numbers(found)
    flat = set(np.flatnonzero(~(np.diag(found.covariance) > 0)).tolist())
    noised = tuple(j for j in range(numbers.shape[1]) if j not in flat and j not in set(travelling))
    if shape is None or len(noised) < numbers.shape[1]:
        S = rows_shape(numbers[:, list(noised)])
    else:
        S = shape()
    return _calibration(rows, found, travelling, noised, S)


def rows_shape(numbers: FloatArray) -> FloatArray:
    """S of the rows alone, (d, d)."""
    return covariance_shape(row_moments(np.asfortranarray(numbers)))


def recalibrated(
    frozen: Calibration,
    numbers: FloatArray,
    codes: Codes,
    sizes: Sequence[int],
    S: FloatArray,
    every: Codes | None = None,
) -> Calibration | None:
    """The calibration by other rows, with the travelling numbers of a frozen one.

    S is the shape of these rows' noise, over all numbers that do not travel. Where there are not twice as
    many rows as effects, rare categories are joined (`frequent_categories`); None where there are hardly any rows.
    What these tell, pairs of rows tell, where `every` is given: the codes before any categories were joined.
    """
    codes, sizes = judged_categories(codes, sizes)
    rows, found = _associated(_Rows(numbers, codes, sizes, len(sizes)))
    if found.rows - 1 < 2 * found.effects.max(initial=0) or found.rows < 3:
        return None
    found = _beyond_chance(found)
    if every is not None:
        found = _with_rare(found, rows, every)
    spread = np.diag(found.covariance) > 0
    shaped = [j for j in range(numbers.shape[1]) if j not in frozen.travelling]
    noised = tuple(j for j in shaped if spread[j])
    places = [shaped.index(j) for j in noised]
    travelling = tuple(j for j in frozen.travelling if spread[j])
    return _calibration(rows, found, travelling, noised, S[np.ix_(places, places)])


def _beyond_chance(found: Association) -> Association:
    """The association less what chance may have made of it, so that few values do not seem determined.

    What the categories leave is stretched for the effects that were fitted. A number of which there are
    not twice as many values as effects counts as told by nothing. The caller allows for 2/√n of chance in
    n rows; a number with fewer values is allowed for the rest of it here.
    """
    chance = 2 / np.sqrt(np.maximum(found.values, 1)) - 2 / np.sqrt(max(found.rows, 1))
    stretch = np.sqrt((found.values - 1) / np.maximum(found.free, 1) * (1 + chance))
    given = found.given * np.outer(stretch, stretch)
    untold = ~found.enough
    given[untold], given[:, untold] = 0.0, 0.0
    given[untold, untold] = np.diag(found.covariance)[untold]
    spread = np.sqrt(np.outer(np.diag(found.covariance), found.variances))
    least = np.where(untold, np.inf, chance)[:, None] * np.where(spread > 0, spread, 1.0)
    told = np.sign(found.indicators) * np.maximum(np.abs(found.indicators) - least, 0.0)
    return replace(found, given=given, indicators=told)


def _with_rare(found: Association, rows: _Rows, every: Codes) -> Association:
    """The association, less what categories that were too rare to be judged surely tell of the numbers."""
    present = ~np.isnan(rows.numbers)
    R = centred(rows.numbers) - indicators(rows.codes, rows.sizes) @ found.coefficients
    left = np.sqrt(1 - told_by_pairs(np.where(present, R, 0.0), present, every))
    return replace(found, given=found.given * np.outer(left, left))


@dataclass(frozen=True)
class _Rows:
    """Numbers (n, d) and codes (n, c) below sizes; `own` columns of the table, then those that were joined."""

    numbers: FloatArray
    codes: Codes
    sizes: Sequence[int]
    own: int

    def some(self, most: int) -> _Rows:
        """At most so many of them, spread evenly."""
        n = len(self.numbers)
        places = np.linspace(0, n - 1, min(n, most)).astype(np.intp)
        return replace(self, numbers=self.numbers[places], codes=self.codes[places])


def _associated(rows: _Rows) -> tuple[_Rows, Association]:
    """The association of the rows, and the rows with the columns joined that tell of numbers together."""
    found = association(rows.numbers, rows.codes, rows.sizes)
    some = rows.some(rows_looked_at(rows.own, len(found.values)))
    R = centred(some.numbers) - indicators(some.codes, some.sizes) @ found.coefficients
    R[np.isnan(some.numbers)] = 0.0
    sets = telling_together(R, np.diag(found.covariance), some.codes)
    # As many categories as leave twice as many values as effects.
    most = (found.free - found.effects)[found.enough].min(initial=np.inf) / 2
    joined = joined_columns(rows.codes, sets, most)
    if not joined:
        return rows, found
    sizes = [*rows.sizes, *(int(one.max()) + 1 for one in joined)]
    rows = replace(rows, codes=np.column_stack([rows.codes, *joined]), sizes=sizes)
    return rows, association(rows.numbers, rows.codes, rows.sizes, rows.own)


def _calibration(
    rows: _Rows,
    found: Association,
    travelling: tuple[int, ...],
    noised: tuple[int, ...],
    S: FloatArray,
) -> Calibration:
    K = found.covariance[np.ix_(noised, noised)]
    gaps = bool((found.values < found.rows).any())
    if gaps:
        K = towards(K, found.paired[np.ix_(noised, noised)], S)
    k, P = relative_spectrum(S, K)
    told = _told_by_travelling(found, noised, travelling)
    G = found.given[np.ix_(noised, noised)] - found.given[np.ix_(noised, travelling)] @ told
    G = (G + G.T) / 2
    if gaps:  # Of different rows each, G may exceed K; then less noise would seem to leave more.
        G = within(G, K)
    given_k, given_P = relative_spectrum(S, G)
    unit = np.sqrt(np.diag(K))[:, None]
    facts, columns = _facts(found, noised, travelling, rows.sizes[: rows.own])
    telling = np.asarray(np.linalg.solve(P, facts) ** 2, dtype=np.float64)
    by_lines = Calibration(
        rows=found.rows,
        travelling=travelling,
        noised=noised,
        explained=found.explained,
        k=np.maximum(k, 0.0),
        axes=P / unit,
        given_k=np.maximum(given_k, 0.0),
        given_axes=given_P / unit,
        facts=_possible(telling, np.maximum(k, 0.0)) if gaps else telling,
        fact_columns=columns,
        learnt=Learnt.nothing(),
    )
    return replace(by_lines, learnt=_learnt(rows.some(CELL_ROWS), found, by_lines, told, S))


def _learnt(
    rows: _Rows, found: Association, by_lines: Calibration, told: FloatArray, S: FloatArray
) -> Learnt:
    """What is learnt beyond lines, by cells of the record of some of the rows."""
    noised, travelling = list(by_lines.noised), list(by_lines.travelling)
    if not noised or not rows.sizes:
        return Learnt.nothing()
    X = centred(rows.numbers)
    Z = indicators(rows.codes, rows.sizes)
    judged, cells = _cells(rows, found, travelling, X[:, noised])
    if not cells.any():
        return Learnt.nothing()
    donors = _donors(~np.isnan(rows.numbers[judged]), cells)
    X, R = (
        np.take_along_axis(own[judged], donors, axis=0) for own in (X, X - Z @ found.coefficients)
    )
    listed, places = _listed(found)
    attacked = CellRows(
        numbers=X[:, noised],
        left=R[:, noised] - R[:, travelling] @ told,
        cells=cells,
        facts=_facts_of_rows(rows.codes[judged], rows.sizes, listed),
    )
    lines = left_everywhere(by_lines, GRID)
    seen = rows.numbers[judged][:, noised]
    return learnt(attacked, S, seen, lines, len(noised) + places)


def _facts_of_rows(codes: Codes, sizes: Sequence[int], listed: Places) -> FloatArray:
    """Indicators of the listed categories, (n, f), of codes (n, c) below `sizes`."""
    firsts = np.cumsum([0, *sizes])
    columns = np.searchsorted(firsts, listed, side="right") - 1
    same = codes.T[columns] == (listed - firsts[columns])[:, None]
    return np.asarray(same.T.astype(np.float64))


def _cells(
    rows: _Rows, found: Association, travelling: Sequence[int], numbers: FloatArray
) -> tuple[Places, Places]:
    """Cells of the categories and of the travelling numbers that these do not determine, in bins."""
    bins = [_bins(rows.numbers[:, place]) for place in travelling if not _determined(found, place)]
    codes = np.column_stack([rows.codes, *bins]).astype(np.int32)
    sizes = [*rows.sizes, *(BINS + 1 for _ in bins)]
    d = numbers.shape[1]
    spread = numbers.std(axis=0)
    return record_cells(
        indicators(codes, sizes),
        np.cumsum([0, *sizes]),
        numbers / np.where(spread > 0, spread, 1.0),
        most=int(np.clip(CELL_WORK // d**2, 4, MOST_CELLS)),
        least=max(LEAST_IN_A_CELL, rows_for_a_shape(d)),
    )


def _donors(present: Flags, cells: Places) -> Places:
    """(n, d), for each cell of the table the row that it is taken from: its own, if it is there.

    A gap is filled from the rows of its cell of records in turn, so that mean and spread there are
    those of the values that there are. Where there is none it stays as it is, at the mean.
    """
    rows, d = present.shape
    found = np.repeat(np.arange(rows)[:, None], d, axis=1)
    by_cell = np.argsort(cells, kind="stable")
    for column in np.flatnonzero(~present.all(axis=0)):
        there = present[by_cell, column]
        donors, gaps = by_cell[there], by_cell[~there]
        values = np.bincount(cells[donors], minlength=int(cells.max()) + 1)
        gaps = gaps[values[cells[gaps]] > 0]
        missing = np.bincount(cells[gaps], minlength=len(values))
        # The first gap of a cell is filled from the first of its rows, and so on, in turn.
        turn = np.arange(len(gaps)) - (np.cumsum(missing) - missing)[cells[gaps]]
        first = (np.cumsum(values) - values)[cells[gaps]]
        found[gaps, column] = donors[first + turn % values[cells[gaps]]]
    return found


def _bins(values: FloatArray) -> Codes:
    """Values in equally frequent bins; missing ones in a bin of their own."""
    if np.isnan(values).all():
        return np.full(len(values), BINS, dtype=np.int32)
    edges = np.nanquantile(values, np.arange(1, BINS) / BINS)
    found = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), BINS, found).astype(np.int32)


def _listed(found: Association) -> tuple[Places, Places]:
    """The most frequent categories: their places among the indicators, and among the facts."""
    variances = found.variances
    order = np.argsort(-variances, kind="stable")[:LISTED]
    listed = np.sort(order[found.shares[order] >= FREQUENT])
    among = np.cumsum(variances > 0) - 1
    listed = listed[variances[listed] > 0]
    return listed, among[listed]


def _determined(found: Association, place: int) -> bool:
    return bool(found.given[place, place] <= ROUNDING * found.covariance[place, place])


def _told_by_travelling(
    found: Association, noised: Sequence[int], travelling: Sequence[int]
) -> FloatArray:
    """(t, d): the regression, given the categories, of the noised numbers on those that travel.

    In units of the travelling numbers' own spread, which rounding is relative to: directions in which
    the categories leave no more of them than rounding are left out.
    """
    if not travelling:
        return np.zeros((0, len(noised)))
    unit = np.sqrt(np.diag(found.covariance)[list(travelling)])
    among = found.given[np.ix_(travelling, travelling)] / unit / unit[:, None]
    across = found.given[np.ix_(travelling, noised)] / unit[:, None]
    values, vectors = np.linalg.eigh(among)
    vectors = vectors[:, values > ROUNDING] / np.sqrt(values[values > ROUNDING])
    return np.asarray(vectors @ (vectors.T @ across) / unit[:, None])


def _possible(facts: FloatArray, k: FloatArray) -> FloatArray:
    """The facts, as far as numbers can tell them: gᵀK⁻¹g is at most a fact's variance.

    Where numbers have gaps, each covariance is of other rows, and together they may seem to tell more.
    Kept is what noise hides the least, the directions in which the numbers vary most; k ascends.
    """
    there = k[:, None] > 0
    told = np.divide(facts, k[:, None], out=np.zeros_like(facts), where=there)[::-1]
    before = np.cumsum(told, axis=0) - told
    return np.asarray(np.clip(told, 0.0, np.maximum(1.0 - before, 0.0))[::-1] * k[:, None])


def _facts(
    found: Association, noised: Sequence[int], travelling: Sequence[int], sizes: Sequence[int]
) -> tuple[FloatArray, Places]:
    """g over the root of each fact's variance, (d, f), and the column that each fact is of."""
    rows = list(noised)
    variances = found.variances
    columns = np.repeat(np.arange(len(sizes)), sizes)
    there = variances > 0
    of_numbers = found.paired[np.ix_(rows, travelling)]
    facts = np.hstack([found.indicators[rows][:, there], of_numbers])
    spread = np.concatenate([variances[there], np.diag(found.covariance)[list(travelling)]])
    places = np.concatenate([columns[there], len(sizes) + np.array(travelling, dtype=np.intp)])
    return facts / np.sqrt(spread), places.astype(np.intp)
