"""A found table names the copies that it was made of, and nobody else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, shape_factor
from app.numerics.tracing import (
    SLOTS,
    WIDTH,
    RecipientShare,
    free_slot,
    matched_rows,
    shares,
    slot_variance,
)

Matrix = NDArray[np.float64]

ROWS, RECIPIENTS, V = 8_000, 30, 0.25


class Shared:
    """A table, and copies of it in slots of their own, from the least perturbed up."""

    def __init__(self, seed: int = 1) -> None:
        self.rng = np.random.default_rng(seed)
        mixing = self.rng.normal(size=(5, 5))
        self.X = np.exp(0.3 * self.rng.normal(size=(ROWS, 5))) @ mixing
        self.S = covariance_shape(row_moments(self.X))
        slots = np.sort(self.rng.choice(np.arange(1, SLOTS + 1), RECIPIENTS, replace=False))
        variances = [V, *(slot_variance(V, slot) for slot in slots.tolist())]
        path = np.zeros_like(self.X)
        self.copies = []
        for step in np.diff([0.0, *variances]):
            path = path + np.sqrt(step) * self.normals(ROWS)
            self.copies.append(self.X + path)

    def normals(self, rows: int) -> Matrix:
        return np.asarray(self.rng.normal(size=(rows, 5)) @ shape_factor(self.S).T)

    def rows(self, count: int) -> NDArray[np.intp]:
        return self.rng.choice(ROWS, count, replace=False)

    def traced(
        self, found: Matrix, columns: tuple[int, ...] = (0, 1, 2, 3, 4)
    ) -> list[RecipientShare]:
        noise = V * self.S[np.ix_(columns, columns)]
        copies = [copy[:, columns] for copy in self.copies]
        matches = matched_rows(found, copies[0], noise)
        there = [copy[matches.copy] for copy in copies]
        told = shares(found[matches.found], there[0], there[1:], noise)
        assert told is not None
        return told


@pytest.fixture(scope="module")
def shared() -> Shared:
    return Shared()


def named(told: list[RecipientShare]) -> set[int]:
    return {place for place, one in enumerate(told) if one.error_chance < 1e-3}


def test_one_leaker_of_some_rows_shuffled_and_rounded_is_named(shared: Shared) -> None:
    for leaker in (0, 7, RECIPIENTS - 1):
        found = np.round(shared.copies[1 + leaker][shared.rows(600)], 2)
        told = shared.traced(found)
        assert named(told) == {leaker}
        assert told[leaker].weight == pytest.approx(1.0, abs=0.1)


def test_some_columns_are_enough(shared: Shared) -> None:
    columns = (0, 2, 3)
    found = shared.copies[5][shared.rows(1_500)][:, columns]
    assert named(shared.traced(found, columns)) == {4}


def test_noise_that_is_added_does_not_hide_the_leaker(shared: Shared) -> None:
    rows = shared.rows(6_000)
    found = shared.copies[21][rows] + 0.1 * np.sqrt(V) * shared.normals(len(rows))
    assert named(shared.traced(found)) == {20}


def test_all_of_those_who_mix_their_copies_are_named_with_their_weights(shared: Shared) -> None:
    rows = shared.rows(1_000)
    weights = {3: 0.5, 11: 0.3, 25: 0.2}
    found = sum(w * shared.copies[1 + r][rows] for r, w in weights.items())
    assert isinstance(found, np.ndarray)
    told = shared.traced(found)
    assert named(told) == set(weights)
    for recipient, weight in weights.items():
        assert told[recipient].weight == pytest.approx(weight, abs=0.02)


def test_rows_picked_from_several_copies_name_each_of_them(shared: Shared) -> None:
    rows = shared.rows(3_000)
    found = np.vstack([shared.copies[3][rows[:1_500]], shared.copies[18][rows[1_500:]]])
    assert named(shared.traced(found)) == {2, 17}


def test_the_least_perturbed_copy_and_unrelated_tables_name_nobody(shared: Shared) -> None:
    assert named(shared.traced(shared.copies[0][shared.rows(500)])) == set()
    innocents = 0
    for _ in range(20):
        strangers = shared.X[shared.rows(800)] + np.sqrt(V) * shared.normals(800)
        innocents += len(named(shared.traced(strangers)))
    assert innocents == 0


def test_errors_are_as_large_as_they_are_said_to_be(shared: Shared) -> None:
    """Of those who have no part, w/s is standard normal: accepted at that scale, rejected beside it."""
    scores = []
    for _ in range(12):
        rows = shared.rows(2_000)
        found = shared.copies[9][rows] + 0.05 * np.sqrt(V) * shared.normals(len(rows))
        told = shared.traced(found)
        scores += [one.weight / one.standard_error for place, one in enumerate(told) if place != 8]
    assert 0.85 < np.std(scores) < 1.15
    assert abs(np.mean(scores)) < 0.25


def test_pooling_the_slots_gains_nothing_over_the_lowest(shared: Shared) -> None:
    def left(known: Matrix) -> float:
        design = np.column_stack([np.ones(ROWS), known])
        fitted = design @ np.linalg.lstsq(design, shared.X[:, 0], rcond=None)[0]
        freedom = ROWS - design.shape[1]
        return float(((shared.X[:, 0] - fitted) ** 2).sum() / freedom / shared.X[:, 0].var())

    alone, pooled = left(shared.copies[1]), left(np.hstack(shared.copies[1:]))
    assert pooled > 0.995 * alone
    # Noise of each recipient's own, in place of slots on one path, would be averaged away.
    apart = [shared.X + np.sqrt(V) * shared.normals(ROWS) for _ in range(5)]
    assert left(np.hstack(apart)) < 0.5 * alone


def test_rows_without_a_clear_match_are_left_out(shared: Shared) -> None:
    noise = V * shared.S
    found = shared.copies[1][:100].copy()
    found[:10, 2] = np.nan
    matches = matched_rows(found, shared.copies[0], noise)
    assert matches.found.min() >= 10
    assert (matches.found == matches.copy).mean() > 0.9
    assert len(matched_rows(found[:0], shared.copies[0], noise).found) == 0
    halfway = (shared.copies[0][:1] + shared.copies[0][1:2]) / 2
    twice = np.repeat(found[20:21], 3, axis=0)
    assert len(matched_rows(twice, shared.copies[0], noise).found) <= 1
    assert len(matched_rows(halfway, shared.copies[0][:2], noise).found) == 0
    assert shares(found[10:12], found[10:12], [found[10:12]], noise) is None


def test_wide_tables_are_matched_as_narrow_ones_are(shared: Shared) -> None:
    rng = np.random.default_rng(3)
    copy = rng.normal(size=(500, 20))
    order = rng.permutation(500)[:100]
    matches = matched_rows(copy[order] + 0.01 * rng.normal(size=(100, 20)), copy, np.eye(20))
    np.testing.assert_array_equal(order[matches.found], matches.copy)
    assert len(matches.found) == 100


def test_slots_lie_within_one_percent_above_the_level_and_are_given_once() -> None:
    variances = [slot_variance(2.0, slot) for slot in range(1, SLOTS + 1)]
    assert variances == sorted(set(variances))
    assert 2.0 < variances[0] < variances[-1] <= 2.0 * (1 + WIDTH) * (1 + 1e-12)
    rng = np.random.default_rng(4)
    taken: list[int] = []
    while (slot := free_slot(taken, rng)) is not None:
        taken.append(slot)
    assert sorted(taken) == list(range(1, SLOTS + 1))
    half = np.diff(np.sort([0, *taken[: SLOTS // 2]]))
    assert half.min() == 2  # neighbours are what tracing confuses
    assert taken != sorted(taken)
    for wrong in (0, SLOTS + 1):
        with pytest.raises(ValueError, match="slot"):
            slot_variance(1.0, wrong)
