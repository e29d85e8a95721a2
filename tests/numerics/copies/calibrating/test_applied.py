"""a(v): the closed forms against simulated attackers, and the smallest a that keeps every promise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.numerics.copies.calibrating import association as module
from app.numerics.copies.calibrating.applied import (
    Calibration,
    applied_variance,
    kept_level,
    largest_applied,
    left_shares,
    own_variances,
    worst_direction,
)
from app.numerics.copies.calibrating.association import association
from app.numerics.copies.calibrating.calibration import calibrated, rows_shape
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, shape_factor

Matrix = NDArray[np.float64]
Codes = NDArray[np.int32]
Sample = tuple[Matrix, Codes, list[int]]


def related(rows: int, seed: int = 1, strength: float = 1.0) -> Sample:
    """Two related numbers that two categorical columns, themselves related, tell of."""
    rng = np.random.default_rng(seed)
    first = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    second = np.where(rng.random(rows) < 0.6, first % 3, rng.integers(0, 3, rows))
    x = strength * (0.9 * first + 0.5 * second) + rng.normal(size=rows)
    y = 0.7 * x + rng.normal(size=rows)
    return np.column_stack([x, 100 * y]), np.column_stack([first, second]).astype(np.int32), [4, 3]


def at(calibration: Calibration, a: float) -> Matrix:
    size = len(calibration.k) + calibration.facts.shape[1]
    return left_shares(calibration, np.full(size, a))[0]


@pytest.mark.parametrize("a", [0.1, 0.5, 2.0, 8.0])
def test_closed_forms_are_what_a_simulated_attacker_is_left_with(a: float) -> None:
    """One who knows mean, covariance and the kept rows, and guesses linearly from the rest."""
    rows = 400_000
    numbers, codes, sizes = related(rows)
    rng = np.random.default_rng(2)
    S = covariance_shape(row_moments(numbers))
    released = numbers + np.sqrt(a) * rng.normal(size=numbers.shape) @ shape_factor(S).T
    Z = np.hstack([np.eye(size)[codes[:, c]] for c, size in enumerate(sizes)])
    truth = np.hstack([numbers, Z])
    without = regressed(truth, released) ** 2
    with_record = regressed(truth, np.hstack([released, Z])) ** 2
    left = np.zeros(truth.shape[1])
    for _ in range(20):  # which rows are kept, drawn again and again for a steadier mean
        kept = rng.random(rows) < 1 / (1 + a)
        left += np.where(kept[:, None], with_record, without).mean(axis=0) / 20
    measured = left / truth.var(axis=0)
    np.testing.assert_allclose(at(calibrated(numbers, codes, sizes), a), measured, rtol=0.01)


def regressed(target: Matrix, known: Matrix) -> Matrix:
    """What a linear guess at the target leaves."""
    X = np.hstack([np.ones((len(known), 1)), known])
    return np.asarray(target - X @ np.linalg.lstsq(X, target, rcond=None)[0])


def test_a_travelling_number_is_a_fact_of_the_record() -> None:
    numbers, codes, sizes = related(50_000, strength=20.0)
    found = calibrated(numbers, codes, sizes)
    assert found.travelling == (0, 1)
    assert found.noised == ()
    np.testing.assert_allclose(at(found, 3.0), 0.75, rtol=1e-12)
    assert applied_variance(found, 1.0) == pytest.approx(1.0)
    mixed = np.column_stack([numbers[:, 0], np.random.default_rng(3).normal(size=50_000)])
    found = calibrated(mixed, codes, sizes)
    assert found.travelling == (0,)
    assert found.noised == (1,)
    assert found.fact_columns.tolist() == [0, 0, 0, 0, 1, 1, 1, 2]


def test_what_travels_tells_of_the_other_numbers_too() -> None:
    """The second number follows the first's deviations, which no category tells."""
    rng = np.random.default_rng(4)
    rows = 50_000
    category = rng.integers(0, 5, rows).astype(np.int32)
    deviation = rng.normal(size=rows)
    numbers = np.column_stack(
        [10.0 * category + deviation, deviation + 0.3 * rng.normal(size=rows)]
    )
    found = calibrated(numbers, category[:, None], [5])
    assert found.travelling == (0,)
    assert found.noised == (1,)
    assert found.explained[1] < 0.01
    left = (found.given_weights * found.given_k).sum()
    assert left == pytest.approx(0.09 / 1.09, rel=0.05)


def test_without_categories_the_variance_is_applied_as_it_is() -> None:
    numbers, codes, _ = related(500)
    found = calibrated(numbers, codes[:, :0], [])
    for v in (1e-9, 0.25, 1.0, 1e9):
        assert applied_variance(found, v) == v


def test_independent_categories_cost_next_to_nothing() -> None:
    rng = np.random.default_rng(5)
    numbers = rng.normal(size=(50_000, 3))
    codes = rng.integers(0, 4, (50_000, 2)).astype(np.int32)
    found = calibrated(numbers, codes, [4, 4])
    for v in (0.25, 1.0, 4.0):
        assert v <= applied_variance(found, v) < 1.002 * v


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(2, 200),
    strength=st.sampled_from([0.0, 0.3, 1.0, 10.0]),
    gaps=st.sampled_from([0.0, 0.1, 0.9]),
)
def test_the_smallest_variance_that_keeps_the_promise_grows_with_v(
    seed: int, rows: int, strength: float, gaps: float
) -> None:
    numbers, codes, sizes = related(rows, seed, strength)
    rng = np.random.default_rng(seed)
    numbers = np.where(rng.random(numbers.shape) < gaps, np.nan, numbers)
    found = calibrated(numbers, codes, sizes)
    levels = [1e-9, 1e-3, 0.25, 1.0, 4.0, 1e3, 1e9]
    applied = [applied_variance(found, v) for v in levels]
    assert applied == sorted(applied)
    for v, a in zip(levels, applied, strict=True):
        assert v <= a <= largest_applied(v) * (1 + 1e-9)
        assert least_left(found, a) >= v / (1 + v) * (1 - 1e-9)
        if 1e-3 < v < 1e3 and a > v * (1 + 1e-9):
            assert least_left(found, a * (1 - 1e-6)) < v / (1 + v)


def least_left(found: Calibration, a: float) -> float:
    """Of any column and of any combination of numbers."""
    return min(float(at(found, a).min(initial=1.0)), worst_direction(found, a)[0])


def a_told_sum(rows: int, seed: int) -> tuple[Matrix, NDArray[np.int32]]:
    """Six numbers of which a category tells little, and their sum, of which it tells all."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(rows, 6))
    category = rng.integers(0, 12, rows).astype(np.int32)
    numbers += 0.05 * category[:, None] - numbers.mean(axis=1, keepdims=True)
    return numbers, category[:, None]


@pytest.mark.parametrize("v", [0.25, 1.0, 4.0])
def test_a_sum_that_the_categories_tell_keeps_the_promise_too(v: float) -> None:
    """The attacker regresses the sum on the copy, on rows that it knows to be kept and on the others."""
    numbers, codes = a_told_sum(40_000, seed=7)
    found = calibrated(numbers, codes, [12])
    of_columns = float(own_variances(found, v).max())
    a = applied_variance(found, v)
    assert of_columns < a <= largest_applied(v) * (1 + 1e-9)
    share, weights = worst_direction(found, a)
    assert share == pytest.approx(v / (1 + v), rel=1e-6)
    np.testing.assert_allclose(weights / weights[0], np.ones(6), atol=0.05)
    promised = v / (1 + v)
    assert sum_left(found, numbers, codes, a) > 0.97 * promised
    assert (
        sum_left(found, numbers, codes, of_columns) < 0.9 * promised
    )  # as each column by itself asks for


def sum_left(found: Calibration, numbers: Matrix, codes: NDArray[np.int32], a: float) -> float:
    """The share of the sum's variance that is left to an attacker who knows the kept rows."""
    rng = np.random.default_rng(8)
    S = covariance_shape(row_moments(numbers))
    noisy = numbers + rng.multivariate_normal(np.zeros(6), a * S, len(numbers))
    total = numbers.sum(axis=1)[:, None]
    kept = rng.random(len(numbers)) < 1 / (1 + a)
    left = np.empty(len(numbers))
    left[~kept] = regressed(total[~kept], noisy[~kept])[:, 0]
    told = np.eye(12)[codes[kept, 0]][:, 1:]
    left[kept] = regressed(total[kept], np.hstack([noisy[kept], told]))[:, 0]
    return float(left.var() / total.var())


def test_a_category_in_every_row_costs_the_most_and_determines_nothing() -> None:
    numbers, _, _ = related(300)
    codes = np.arange(300, dtype=np.int32)[:, None]
    found = calibrated(numbers, codes, [300])
    assert found.travelling == ()
    for v in (0.25, 1.0, 4.0):
        assert v < applied_variance(found, v) <= largest_applied(v)


def test_own_variances_tell_which_columns_need_the_most() -> None:
    rng = np.random.default_rng(6)
    rows = 20_000
    age = rng.normal(size=rows)
    other = rng.normal(size=rows)
    codes = np.column_stack([np.digitize(age, [-0.7, 0.7]), rng.integers(0, 3, rows)])
    found = calibrated(np.column_stack([age, other]), codes.astype(np.int32), [3, 3])
    own = own_variances(found, 1.0)
    assert own[0] > 1.5
    assert own[1] < 1.01
    of_bands, of_others = (own[2:][found.fact_columns == column] for column in (0, 1))
    assert of_bands.max() > 1.3
    assert of_others.max() < 1.01


@pytest.mark.parametrize("sizes", [[2], [3, 4], [5, 7, 40], [2, 2, 2, 2, 2]])
def test_what_categories_leave_is_what_dense_least_squares_leaves(sizes: Sequence[int]) -> None:
    rng = np.random.default_rng(7)
    rows = 3_000
    codes = np.column_stack([rng.integers(0, size, rows) for size in sizes]).astype(np.int32)
    if len(sizes) > 1:
        codes[:, 1] = np.where(rng.random(rows) < 0.98, codes[:, 0] % sizes[1], codes[:, 1])
    effects = [rng.normal(size=size) for size in sizes]
    numbers = rng.normal(size=(rows, 2)) * [1e-9, 1e9]
    for column, effect in enumerate(effects):
        numbers += effect[codes[:, column], None] * [1e-9, 1e9]
    Z = np.hstack([np.eye(size)[codes[:, c]] for c, size in enumerate(sizes)])
    left = regressed(numbers, Z)
    found = association(numbers, codes, sizes)
    np.testing.assert_allclose(found.given, np.cov(left.T), rtol=1e-7)
    np.testing.assert_allclose(found.covariance, np.cov(numbers.T), rtol=1e-9)
    expected = np.cov(np.hstack([numbers, Z]).T)[:2, 2:]
    np.testing.assert_allclose(found.indicators, expected, rtol=1e-7)
    effects_free = sum(size - 1 for size in sizes)
    adjusted = 1 - left.var(axis=0) / numbers.var(axis=0) * (rows - 1) / (rows - 1 - effects_free)
    np.testing.assert_allclose(found.explained, adjusted, rtol=1e-7)


def test_missing_numbers_stand_at_the_mean_and_stretch_the_column() -> None:
    numbers, codes, sizes = related(2_000)
    numbers[np.random.default_rng(8).random(numbers.shape) < 0.2] = np.nan
    found = association(numbers, codes, sizes)
    np.testing.assert_allclose(
        found.covariance, row_moments(numbers).imputed_covariance(), rtol=1e-9
    )


@pytest.mark.parametrize("gaps", [False, True])
def test_rows_are_added_up_in_pieces(monkeypatch: pytest.MonkeyPatch, *, gaps: bool) -> None:
    numbers, codes, sizes = related(2_000)
    if gaps:
        numbers[np.random.default_rng(8).random(numbers.shape) < 0.2] = np.nan
    whole = association(numbers, codes, sizes)
    monkeypatch.setattr(module, "PIECE", 300)
    found = association(np.asfortranarray(numbers), codes, sizes)
    for name in ("values", "covariance", "paired", "given", "indicators", "coefficients"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-9)
    X = np.where(np.isnan(numbers), 0.0, numbers - np.nanmean(numbers, axis=0))
    x, y = X[~np.isnan(numbers).any(axis=1)].T
    correlation = (x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum())
    spread = np.sqrt(np.prod(np.diag(found.covariance)))
    assert found.paired[0, 1] == pytest.approx(correlation * spread, rel=1e-9)


def test_categories_are_counted_by_pairs_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a full matrix and as a sparse one."""
    rng = np.random.default_rng(9)
    sizes = [1, 4, 2, 7]
    codes = np.column_stack([rng.integers(0, size, 50) for size in sizes]).astype(np.int32)
    Z = np.hstack([np.eye(size)[codes[:, c]] for c, size in enumerate(sizes)])
    np.testing.assert_array_equal(module._together(codes, sizes), Z.T @ Z)
    monkeypatch.setattr(module, "FEW", 1)
    np.testing.assert_array_equal(module._together(codes, sizes).toarray(), Z.T @ Z)


@pytest.mark.parametrize("strength", [0.0, 0.3, 3.0])
def test_the_level_that_a_variance_keeps_is_the_one_that_needs_it(strength: float) -> None:
    calibration = calibrated(*related(6_000, strength=strength))
    for v in 2.0 ** np.arange(-10, 11):
        a = applied_variance(calibration, v)
        assert kept_level(calibration, a) == pytest.approx(v, rel=1e-6)
        assert applied_variance(calibration, kept_level(calibration, 1.3 * a)) <= 1.3 * a * (
            1 + 1e-9
        )


def test_a_shape_made_meanwhile_is_taken_where_no_number_travels() -> None:
    numbers, codes, sizes = related(3_000)
    expected = calibrated(numbers, codes, sizes)
    S = rows_shape(numbers)
    np.testing.assert_array_equal(calibrated(numbers, codes, sizes, lambda: S).axes, expected.axes)
    larger = calibrated(numbers, codes, sizes, lambda: 4 * S)
    np.testing.assert_allclose(larger.k, expected.k / 4)
    travels = np.column_stack([numbers, codes[:, 0]])
    wider = rows_shape(travels)
    found = calibrated(travels, codes, sizes, lambda: 4 * wider)
    assert found.travelling == (2,)
    np.testing.assert_array_equal(found.k, calibrated(travels, codes, sizes).k)


def test_without_categories_a_variance_keeps_its_own_level() -> None:
    numbers = related(200)[0]
    assert kept_level(calibrated(numbers, np.empty((200, 0), np.int32), []), 0.7) == 0.7
