"""Linkage: whoever knows a person's other categories finds a row, and what stands beside is no better than a guess.

The attacker knows all categories of a person but one, who is alone with them in the data, looks for them in a copy, and
where one row has them reads the last category there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from numpy.typing import NDArray

from app.numerics.copies.donors import DonorCounts
from tests.numerics.copies.released import Codes, Part

DATA = Path(__file__).parents[4] / "shared" / "data"

BEYOND_GUESSING = {0.5: 0.12, 0.9: 0.02, 0.99: 0.02}
"""Privacy → by how much more often than by guessing the attacker may be right."""


@dataclass(frozen=True)
class Linkage:
    """How often a row is found, how often what stands beside is right then, and how often a guess is."""

    found: float
    right: float
    guessing: float


def linkage(own: Codes, shown: Codes, target: int) -> Linkage:
    """Attack a column of every person who is alone with the other columns."""
    known, rest = (np.delete(each, target, axis=1) for each in (own, shown))
    _, place = np.unique(np.vstack([known, rest]), axis=0, return_inverse=True)
    people, rows = place.ravel()[: len(own)], place.ravel()[len(own) :]
    alone = np.flatnonzero(np.bincount(people)[people] == 1)
    times = np.bincount(rows, minlength=people.max() + 1)
    row = np.zeros(max(len(times), people.max() + 1), dtype=np.intp)
    row[rows] = np.arange(len(rows))
    found = alone[times[people[alone]] == 1]
    right = shown[row[people[found]], target] == own[found, target]
    commonest = np.bincount(own[:, target]).max() / len(own)
    return Linkage(len(found) / len(alone), float(right.mean()), float(commonest))


def people(rows: int = 30_000) -> Part:
    """Eight related columns, most people alone with them, an income that follows from two, and a number from another.

    As in adult the categories tell half of the number, so that there is more noise than the level's own.
    """
    rng = np.random.default_rng(1)
    age, school = rng.integers(0, 10, rows), rng.integers(0, 8, rows)
    columns = [age, school]
    for size, j in ((12, 1), (6, 0), (7, 0), (5, 1), (9, 0), (4, 1)):
        kept = rng.random(rows) < 0.6
        columns.append(np.where(kept, columns[j] % size, rng.integers(0, size, rows)))
    chance = 1 / (1 + np.exp(4.0 - 0.35 * (age + school)))
    columns.append((rng.random(rows) < chance).astype(np.intp))
    hours = (age - 4.5) / np.sqrt(8.25) + rng.normal(size=rows)
    return Part(hours[:, None], np.column_stack(columns).astype(np.int32))


@pytest.mark.parametrize("privacy", BEYOND_GUESSING)
def test_who_finds_a_person_learns_little_more_than_by_guessing(privacy: float) -> None:
    part = people()
    attack = linkage(part.codes, part.records(part.applied(privacy / (1 - privacy))), 8)
    assert 0.7 < attack.guessing < 0.8
    assert attack.found > 0.005
    error = np.sqrt(0.25 / (attack.found * len(part.codes) / 2))
    assert attack.right < attack.guessing + BEYOND_GUESSING[privacy] + error


@pytest.mark.parametrize("privacy", BEYOND_GUESSING)
def test_the_same_attacker_is_right_where_donors_are_people(privacy: float) -> None:
    part = people()
    rng = np.random.default_rng(2)
    kept = rng.random(len(part.codes)) < 1 - privacy
    shown = np.where(kept[:, None], part.codes, part.codes[rng.integers(0, len(kept), len(kept))])
    attack = linkage(part.codes, shown, 8)
    assert attack.found > 0.3
    assert attack.right > 0.97


def cramers_v(codes: Codes, sizes: list[int]) -> NDArray[np.float64]:
    """Of every two columns."""
    found = []
    for j in range(len(sizes)):
        for k in range(j):
            table = np.zeros((sizes[j], sizes[k]))
            np.add.at(table, (codes[:, j], codes[:, k]), 1)
            table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
            expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
            chi_squared = ((table - expected) ** 2 / expected).sum() / table.sum()
            found.append(np.sqrt(chi_squared / (min(table.shape) - 1)))
    return np.array(found)


def change_of_association(part: Part, applied: float) -> float:
    """Mean change of Cramér's V over all pairs of columns."""
    before, after = (cramers_v(each, part.sizes) for each in (part.codes, part.records(applied)))
    return float(np.abs(after - before).mean())


def test_associations_of_the_tree_survive_and_column_events_weaken_them_as_they_must() -> None:
    """A pair of the tree keeps V, but for cells that a column event replaced: q^½ at rate ¼ for each of two."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 2, 200_000)
    second = np.where(rng.random(len(first)) < 0.8, first, 1 - first)
    part = Part(np.zeros((len(first), 0)), np.column_stack([first, second]).astype(np.int32))
    before = float(cramers_v(part.codes, [2, 2])[0])
    for a in (0.5, 1.0, 9.0):
        q = 1 / (1 + a)
        # Whole records, own or a donor's, without column event since: rates 1 and ½ against each other.
        together = q**1.5 + (1 - q**1.5) / 1.5
        found = float(cramers_v(part.records(a), [2, 2])[0])
        assert found == pytest.approx(before * together, abs=0.01)


def adult() -> Part:
    table = pyarrow.csv.read_csv(DATA / "adult.csv")
    texts = [name for name in table.column_names if table.schema.field(name).type == "string"]
    codes = [
        table.column(name).combine_chunks().dictionary_encode("encode").indices.to_numpy()
        for name in texts
    ]
    numeric = ["age", "fnlwgt", "capital_gain", "capital_loss", "hours_per_week"]
    numbers = np.column_stack([table.column(name).to_numpy().astype(float) for name in numeric])
    return Part(numbers, np.column_stack(codes).astype(np.int32))


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.skipif(not (DATA / "adult.csv").exists(), reason="adult.csv is not there")
@pytest.mark.parametrize("privacy", BEYOND_GUESSING)
def test_on_adult_who_finds_a_person_learns_little_more_than_by_guessing(privacy: float) -> None:
    part = adult()
    a = part.applied(privacy / (1 - privacy))
    attack = linkage(part.codes, part.records(a), part.codes.shape[1] - 1)
    assert attack.guessing == pytest.approx(0.76, abs=0.005)
    assert attack.right < attack.guessing + BEYOND_GUESSING[privacy]
    assert change_of_association(part, a) < 0.11


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.skipif(not (DATA / "adult.csv").exists(), reason="adult.csv is not there")
def test_on_adult_the_tree_holds_most_associations_and_no_order_of_rows_matters() -> None:
    part = adult()
    again = Part(part.numbers[::-1], part.codes[::-1])
    assert part.r_squared == pytest.approx(0.508, abs=0.002)
    assert again.r_squared == pytest.approx(part.r_squared, rel=1e-9)
    assert DonorCounts.of(again.codes, part.sizes).parents == part.counts.parents
