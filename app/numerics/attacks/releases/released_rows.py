"""Released rows beside their originals, and the values that attackers estimate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from app.numerics.arrays import Codes, FloatArray, Places
from app.numerics.attacks.releases.posterior_mean import PartNoiseLaw

MOST_CATEGORIES = 30
"""Categories of a column that are attacked one by one, the most frequent; the rest are one target."""

FEWEST_ROWS = 20
"""A category with fewer rows is no target of its own: nothing could be measured."""

STRONGLY_CORRELATED = 0.9
MOST_PAIRS = 50
SLOPES = 2_000
"""Pairs of rows whose slopes are looked at."""


@dataclass(frozen=True, repr=False)
class PassthroughColumns:
    """Columns that leave as they are, of the originals: numbers (n, k) with NaN where missing, and codes of texts (n, m)."""

    names: tuple[str, ...]
    numbers: FloatArray
    codes: Codes


@dataclass(frozen=True, repr=False)
class ReleasedRows:
    """Rows as they are and in a copy. Several released rows may be of one original: draws of a simulated copy.

    where:
        numbers, codes    (n, d) with NaN where missing, and (n, c)
        categories        the texts of the codes of each column; None for a missing one
        parts             (n,), the part whose noise each row has
        laws              part → its noise
        released, shown   (m, d), (m, c)
        own               (m,), the original of each released row
        runs              (n,), the same for rows that follow each other in the table and came together
    """

    names: tuple[str, ...]
    numbers: FloatArray
    category_names: tuple[str, ...]
    categories: tuple[tuple[str | None, ...], ...]
    codes: Codes
    parts: Places
    laws: Mapping[int, PartNoiseLaw]
    released: FloatArray
    shown: Codes
    own: Places
    runs: Places
    passthrough: PassthroughColumns

    def some(self, chosen: Places) -> ReleasedRows:
        """The rows of these originals, ascending; a run ends where one is left out."""
        places = np.full(len(self.numbers), -1)
        places[chosen] = np.arange(len(chosen))
        here = places[self.own] >= 0
        apart = (np.diff(chosen) != 1) | (np.diff(self.runs[chosen]) != 0)
        return replace(
            self,
            numbers=self.numbers[chosen],
            codes=self.codes[chosen],
            parts=self.parts[chosen],
            released=self.released[here],
            shown=self.shown[here],
            own=places[self.own[here]],
            runs=np.cumsum(np.append(0, apart))[: len(chosen)],
            passthrough=replace(
                self.passthrough,
                numbers=self.passthrough.numbers[chosen],
                codes=self.passthrough.codes[chosen],
            ),
        )

    def in_units(self) -> ReleasedRows:
        """The same with each number in units of its largest magnitude, so that squares are doubles."""
        units, known = _units(self.numbers), self.passthrough.numbers
        laws = {
            part: replace(law, shape=law.shape / units / units[:, None])
            for part, law in self.laws.items()
        }
        return replace(
            self,
            numbers=self.numbers / units,
            released=self.released / units,
            laws=laws,
            passthrough=replace(self.passthrough, numbers=known / _units(known)),
        )

    def each_part(self) -> Iterator[tuple[PartNoiseLaw, Places, Places]]:
        """Noise law, originals and released rows of each part."""
        for part in np.unique(self.parts).tolist():
            there = self.parts == part
            yield self.laws[part], np.flatnonzero(there), np.flatnonzero(there[self.own])


def _units(numbers: FloatArray) -> FloatArray:
    """The largest magnitude of each column, 1 where it is 0, (d,)."""
    largest = np.abs(np.nan_to_num(numbers)).max(axis=0, initial=0.0)
    return np.where(largest > 0, largest, 1.0)


@dataclass(frozen=True, repr=False)
class AttackTarget:
    """Values to be inferred, (n,), NaN where there are none.

    where:
        columns  names of the columns that it is about
        numbers  places of those that are numbers; the record is what tells of the others
        shown    (m,), what the copy shows of it
    """

    name: str
    values: FloatArray
    columns: tuple[str, ...]
    numbers: tuple[int, ...]
    shown: FloatArray


def targets(rows: ReleasedRows, rng: np.random.Generator) -> list[AttackTarget]:
    """Every number, differences of strongly correlated numbers, every category, and rare ones as one."""
    found = [
        AttackTarget(name, values, (name,), (place,), rows.released[:, place])
        for place, (name, values) in enumerate(zip(rows.names, rows.numbers.T, strict=True))
    ]
    found += [_difference(rows, j, k, rng) for j, k in correlated_pairs(rows.numbers)]
    for place in range(len(rows.category_names)):
        found += _categories(rows, place)
    return found


def correlated_pairs(numbers: FloatArray) -> list[tuple[int, int]]:
    """Pairs of columns with a correlation of 0.9 and more over the rows that have both, the strongest first."""
    there = ~np.isnan(numbers)
    spread = np.array(
        [
            column[seen].std() if seen.any() else 0.0
            for column, seen in zip(numbers.T, there.T, strict=True)
        ]
    )
    mean = np.array(
        [
            column[seen].mean() if seen.any() else 0.0
            for column, seen in zip(numbers.T, there.T, strict=True)
        ]
    )
    scaled = np.where(there, numbers - mean, 0.0) / np.where(spread > 0, spread, 1.0)
    squares = (scaled**2).T @ there
    norms = np.sqrt(squares * squares.T)
    rho = np.abs(np.divide(scaled.T @ scaled, norms, out=np.zeros_like(norms), where=norms > 0))
    pairs = [pair for pair in combinations(range(len(rho)), 2) if rho[pair] >= STRONGLY_CORRELATED]
    return sorted(pairs, key=lambda pair: -rho[pair])[:MOST_PAIRS]


def _difference(rows: ReleasedRows, j: int, k: int, rng: np.random.Generator) -> AttackTarget:
    """x_j - β·x_k with β the median slope between rows [Theil 1950; Sen 1968]: exact where most rows lie on a line."""
    both = np.flatnonzero(~np.isnan(rows.numbers[:, [j, k]]).any(axis=1))
    first, second = rng.choice(both, (2, SLOPES))
    rise, run = (rows.numbers[first, place] - rows.numbers[second, place] for place in (j, k))
    slopes = rise[run != 0] / run[run != 0]
    slope = float(np.median(slopes)) if len(slopes) else 1.0
    name = f"difference of {rows.names[j]} and {rows.names[k]}"
    values, shown = (table[:, j] - slope * table[:, k] for table in (rows.numbers, rows.released))
    return AttackTarget(name, values, (rows.names[j], rows.names[k]), (j, k), shown)


def _categories(rows: ReleasedRows, place: int) -> Iterator[AttackTarget]:
    name, texts = rows.category_names[place], rows.categories[place]
    own, shown = rows.codes[:, place], rows.shown[:, place]
    counts = np.bincount(own, minlength=len(texts))
    frequent = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    alone = [code for code in frequent.tolist() if counts[code] >= FEWEST_ROWS]
    several = [
        (f"{name} = {texts[code]}" if texts[code] is not None else f"{name} missing", [code])
        for code in alone
    ]
    several.append((f"rare values of {name}", np.setdiff1d(np.arange(len(texts)), alone).tolist()))
    for said, codes in several:
        if FEWEST_ROWS <= counts[codes].sum() <= len(own) - FEWEST_ROWS:
            values, seen = (np.isin(column, codes).astype(np.float64) for column in (own, shown))
            yield AttackTarget(said, values, (name,), (), seen)
