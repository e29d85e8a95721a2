"""Functional dependencies between columns (city → country), and columns equal in most records.

Functional dependencies: No synthesis of two columns keeps such a fact without exception, so the determined column takes no
part in it and is looked up afterwards. A column that few records could have contradicted is
determined by chance, and looking it up would release its records; such dependencies do not count.

| symbol | name here | meaning |
| --- | --- | --- |
| A → B | `Dependency` | every category of A has one value of B |
| k | | categories of A that occur with a value of B |
| (Σ p_b²)^(n − k) | `_chance` | how likely n records would agree so if A told nothing of B |

Columns that are equal in most records, such as wages beside all earnings, stay so, as often as they were. Mixing
keeps two such columns close and hardly ever equal, which trees find at once. A linear relation that fails in one
record is no identity (`identities`), and taking the difference for a column would move the marginals. So of the
synthetic records that have a value in the one column, as many have it in the other as of the originals: those
whose ranks are closest. The others get what is left, in the order they had. Neither column's values change, only
who has them.

| symbol | name here | meaning |
| --- | --- | --- |
| A, B | `Equality` | `leader` and `follower`, columns of the ordered values |
| p_o, p_e | | shares of records that are equal, and that would be were B permuted |
| κ = (p_o − p_e)/(1 − p_e) | `_agreement` | agreement beyond chance [Cohen, 1960] |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from app.numerics.arrays import FloatArray, Places
from app.numerics.tables import MixedTable

LEAST_RECORDS = 5
"""Records for each category of the determining column, on average."""

LARGEST_LOG_CHANCE = float(np.log(1e-9))


@dataclass(frozen=True)
class Dependency:
    """Column `determined` is a function of the categories of `by`.

    Columns are counted with the numeric ones first. `values[c]` is the number, or the code, that
    category c has; NaN where no record says.
    """

    by: int
    determined: int
    values: FloatArray

    def looked_up(self, codes: Places) -> FloatArray:
        """The determined column, (n,), for categories `codes` (n,), none missing."""
        return self.values[codes]


def dependencies(table: MixedTable) -> tuple[Dependency, ...]:
    """The dependencies that hold in every record, each determined column once.

    Of columns that determine each other the first of the most categories stays. What determines is itself
    never determined: country → continent is city → continent where city → country holds. A column
    that does not vary is in none.
    """
    p = table.numeric.shape[1]
    counted = [int(np.unique(codes[codes >= 0]).size) for codes in table.codes.T]
    determined: dict[int, Dependency] = {}
    for by in sorted(range(len(counted)), key=lambda column: -counted[column]):
        if p + by in determined or not 2 <= counted[by] <= table.records / LEAST_RECORDS:
            continue
        for column in range(p + len(counted)):
            if (
                column == p + by
                or column in determined
                or column in {d.by for d in determined.values()}
            ):
                continue
            values = table.numeric[:, column] if column < p else _as_numbers(table, column - p)
            found = _determined(table.codes[:, by], table.categories[by], values)
            if found is not None:
                determined[column] = Dependency(p + by, column, found)
    return tuple(determined[column] for column in sorted(determined))


def _as_numbers(table: MixedTable, column: int) -> FloatArray:
    codes = table.codes[:, column]
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


def _determined(codes: Places, categories: int, values: FloatArray) -> FloatArray | None:
    """The value of each category, (categories,), where every category has one; None otherwise."""
    both = (codes >= 0) & ~np.isnan(values)
    codes, values = codes[both], values[both]
    lookup = np.full(categories, np.nan)
    lookup[codes] = values
    if not np.array_equal(lookup[codes], values):
        return None
    counts = np.unique(values, return_counts=True)[1]
    if counts.size < 2:
        return None
    same = float(np.square(counts / counts.sum()).sum())
    contradictable = codes.size - np.unique(codes).size
    return lookup if contradictable * np.log(same) <= LARGEST_LOG_CHANCE else None


LEAST_AGREEMENT = 0.8
"""κ from which two columns say the same, exceptions apart [Landis and Koch, 1977]: two grades that often agree do not."""


class Equality(NamedTuple):
    """Two columns of the ordered values that are equal in most records."""

    leader: int
    follower: int


def equalities(values: FloatArray, columns: Places) -> tuple[Equality, ...]:
    """For each of `columns` of `values` (n, d) the earlier one it agrees with most, where κ is at least 0.8.

    A leader stands before its followers in the answer, also where it follows another one.
    """
    found = []
    for place, follower in enumerate(columns):
        agreements = [_agreement(values[:, each], values[:, follower]) for each in columns[:place]]
        if agreements and max(agreements) >= LEAST_AGREEMENT:
            found.append(Equality(int(columns[np.argmax(agreements)]), int(follower)))
    return tuple(found)


def equalised(original: FloatArray, synthetic: FloatArray, found: Sequence[Equality]) -> FloatArray:
    """`synthetic` (n', d) in which followers equal their leaders as often as in `original` (n, d).

    NaN is missing; a record in which one of the two is missing keeps both as they are.
    """
    made = synthetic.copy()
    for leader, follower in found:
        both = np.flatnonzero(~np.isnan(made[:, [leader, follower]]).any(axis=1))
        agreed = original[original[:, leader] == original[:, follower], leader]
        made[both, follower] = _followed(agreed, made[both, leader], made[both, follower])
    return made


def still_equal(restored: FloatArray, values: FloatArray, found: Sequence[Equality]) -> FloatArray:
    """`restored` (n', d) with cells equal that were equal in `values`, before single values were moved.

    A value that did not move in one of the columns, because several records share it there, stays in all.
    """
    made = restored.copy()
    for leader, follower in reversed(found):
        equal = values[:, leader] == values[:, follower]
        stays = equal & (made[:, follower] == values[:, follower])
        made[stays, leader] = values[stays, leader]
    for leader, follower in found:
        equal = values[:, leader] == values[:, follower]
        made[equal, follower] = made[equal, leader]
    return made


def _agreement(left: FloatArray, right: FloatArray) -> float:
    """κ of two columns, (n,) each, among the records that have both; 0 where it says nothing."""
    both = ~(np.isnan(left) | np.isnan(right))
    left, right = left[both], right[both]
    equal = float((left == right).mean()) if left.size else 0.0
    if equal < LEAST_AGREEMENT:  # κ is no larger, and most columns are done with
        return 0.0
    shared, counts = np.unique(left, return_counts=True)
    others = np.searchsorted(np.sort(right), shared, "right") - np.searchsorted(
        np.sort(right), shared, "left"
    )
    chance = float((counts / left.size) @ (others / left.size))
    return (equal - chance) / (1 - chance) if chance < 1 else 0.0


def _followed(agreed: FloatArray, leader: FloatArray, follower: FloatArray) -> FloatArray:
    """The values of `follower` (n',) in another order, equal to `leader` as often as `agreed` says of a value."""
    values, wanted = np.unique(agreed, return_counts=True)
    stock = np.sort(follower)
    first = np.searchsorted(stock, values)
    most = np.minimum(wanted, np.searchsorted(stock, values, side="right") - first)
    candidates = np.flatnonzero(np.isin(leader, values))
    apart = np.abs(scipy.stats.rankdata(leader) - scipy.stats.rankdata(follower))
    apart[leader == follower] = 0.0
    candidates = candidates[np.lexsort((apart[candidates], leader[candidates]))]
    has = leader[candidates]
    turn = np.arange(has.size) - np.searchsorted(has, has)
    chosen = candidates[turn < most[np.searchsorted(values, has)]]
    taken = np.zeros(stock.size, dtype=np.bool_)
    has = np.sort(leader[chosen])
    taken[np.searchsorted(stock, has) + np.arange(has.size) - np.searchsorted(has, has)] = True
    made = np.empty_like(follower)
    made[chosen] = leader[chosen]
    others = np.setdiff1d(np.arange(follower.size), chosen)
    made[others[np.argsort(follower[others], kind="stable")]] = stock[~taken]
    return made
