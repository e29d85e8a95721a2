"""Numbers with gaps that categories tell of: the promise is about the cells that are there.

Cells are missing completely at random, so that those that are there need as much noise as all of them would.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.numerics.copies.calibrating.applied import Calibration, applied_variance
from app.numerics.copies.calibrating.association import association
from app.numerics.copies.calibrating.calibration import calibrated, recalibrated
from app.numerics.copies.shapes.row_moments import paired_covariance, row_moments, towards, within
from app.numerics.copies.shapes.shape import covariance_shape, shape_factor

Matrix = NDArray[np.float64]
Codes = NDArray[np.int32]

ROWS = 40_000
GROUPS = 10
SAMPLING = 0.97


def told(explained: float, missing: float, rows: int = ROWS, seed: int = 1) -> tuple[Matrix, Codes]:
    """A number of which the category tells a share, with gaps, and one that follows it, without."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, GROUPS, rows)
    effect = rng.normal(size=GROUPS)
    effect = ((effect - effect.mean()) / effect.std())[group]
    x = np.sqrt(explained) * effect + np.sqrt(1 - explained) * rng.normal(size=rows)
    other = 0.5 * x + rng.normal(size=rows)
    x[rng.random(rows) < missing] = np.nan
    return np.column_stack([x, other]), group[:, None].astype(np.int32)


def filled(numbers: Matrix) -> Matrix:
    """As it was done before: the mean in every gap."""
    return np.where(np.isnan(numbers), np.nanmean(numbers, axis=0), numbers)


@pytest.mark.parametrize("missing", [0.3, 0.8, 0.9])
def test_a_number_travels_however_many_of_its_cells_are_missing(missing: float) -> None:
    whole = calibrated(*told(0.96, 0.0), [GROUPS])
    numbers, codes = told(0.96, missing)
    found = calibrated(numbers, codes, [GROUPS])
    assert whole.travelling == found.travelling == (0,)
    assert found.explained[0] == pytest.approx(0.96, abs=0.005)
    for v in (0.25, 1.0):
        expected = applied_variance(whole, v)
        assert applied_variance(found, v) == pytest.approx(expected, rel=0.03)
    assert calibrated(filled(numbers), codes, [GROUPS]).travelling == ()


@pytest.mark.parametrize("explained", [0.3, 0.7])
@pytest.mark.parametrize("missing", [0.3, 0.8, 0.9])
def test_gaps_do_not_change_the_noise_that_a_category_costs(
    missing: float, explained: float
) -> None:
    """Of one number alone, which has the same shape whatever is missing."""
    whole, codes = told(explained, 0.0, rows=60_000)
    numbers, _ = told(explained, missing, rows=60_000)
    for v in (0.25, 1.0):
        expected, a, before = (
            applied_variance(calibrated(table[:, :1], codes, [GROUPS]), v)
            for table in (whole, numbers, filled(numbers))
        )
        assert a == pytest.approx(expected, rel=0.05)
        if missing >= 0.8:
            assert before < 0.95 * expected


@pytest.mark.parametrize("v", [0.25, 1.0])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("explained", [0.7, 0.85])
@pytest.mark.parametrize("missing", [0.3, 0.8, 0.9])
def test_attackers_are_left_with_the_promise_of_the_cells_that_are_there(
    missing: float, explained: float, both: bool, v: float
) -> None:
    """By least squares on the rows that have the number, told the kept rows or not."""
    numbers, codes = told(explained, missing)
    if both:
        numbers[np.random.default_rng(9).random(ROWS) < missing, 1] = np.nan
    found = calibrated(numbers, codes, [GROUPS])
    assert found.travelling == ()
    promise = v / (1 + v)
    for knows in (False, True):
        left = attacked(numbers, codes, applied_variance(found, v), kept_known=knows)
        assert left >= SAMPLING * promise
    assert attacked(numbers, codes, v, kept_known=True) < SAMPLING * promise


def attacked(numbers: Matrix, codes: Codes, a: float, *, kept_known: bool) -> float:
    """The least that is left of a number, over the rows with it and over those that have both."""
    rng = np.random.default_rng(3)
    L = shape_factor(covariance_shape(row_moments(numbers)))
    Y = numbers + np.sqrt(a) * rng.normal(size=numbers.shape) @ L.T
    kept = rng.random(len(Y)) < 1 / (1 + a)
    shown = np.where(kept, codes[:, 0], codes[rng.permutation(len(Y)), 0])
    Z = np.eye(GROUPS)[shown]
    gaps = np.isnan(Y)
    Y = np.hstack([np.where(gaps, 0.0, Y), gaps.astype(np.float64)])
    least = []
    present = ~np.isnan(numbers)
    complete = np.asarray(present.all(axis=1))
    sets = [(0, present[:, 0]), (1, present[:, 1])]
    if np.count_nonzero(complete) > 5_000:  # of fewer the spread is 3 %
        sets += [(0, complete), (1, complete)]
    for column, rows in sets:
        errors = np.empty(np.count_nonzero(rows))
        for group in (kept[rows], ~kept[rows]) if kept_known else (np.ones(len(errors), bool),):
            known = np.hstack([Y[rows][group], Z[rows][group]])
            truth = numbers[rows, column][group]
            weights = np.linalg.lstsq(known, truth, rcond=None)[0]
            errors[group] = truth - known @ weights
        least.append(float(np.mean(errors**2) / numbers[rows, column].var()))
    return min(least)


def test_what_categories_leave_is_that_of_the_rows_with_the_number() -> None:
    numbers, codes = told(0.7, 0.6, rows=2_000)
    found = association(numbers, codes, [GROUPS])
    there = ~np.isnan(numbers[:, 0])
    x, group = numbers[there, 0], codes[there, 0]
    left = x - np.array([x[group == one].mean() for one in range(GROUPS)])[group]
    assert found.given[0, 0] / found.covariance[0, 0] == pytest.approx(left.var() / x.var())
    n = len(x)
    adjusted = 1 - left.var() / x.var() * (n - 1) / (n - GROUPS)
    assert found.explained[0] == pytest.approx(adjusted)
    assert found.values.tolist() == [n, 2_000]
    correlation = np.corrcoef(x, group == 3)[0, 1]
    spread = np.sqrt(found.covariance[0, 0] * found.variances[3])
    assert found.indicators[0, 3] / spread == pytest.approx(correlation)
    alone = association(numbers[:, 1:], codes, [GROUPS])
    assert found.given[1, 1] == pytest.approx(alone.given[0, 0])
    np.testing.assert_allclose(found.indicators[1], alone.indicators[0], rtol=1e-9)


def test_effects_are_counted_in_the_rows_with_the_number() -> None:
    """Twenty values cannot tell what ten groups determine, and a hundred of two groups can."""
    numbers, codes = told(0.99, 0.0, rows=5_000)
    few, two = numbers.copy(), numbers.copy()
    few[15:, 0] = np.nan
    two[codes[:, 0] > 1, 0] = np.nan
    assert association(few, codes, [GROUPS]).explained[0] == 0
    assert association(two, codes, [GROUPS]).effects.tolist() == [1, GROUPS - 1]


@pytest.mark.parametrize("missing", [0.0, 0.8])
def test_later_rows_that_tell_more_are_seen_to_tell_more(missing: float) -> None:
    frozen = calibrated(*told(0.3, missing), [GROUPS])
    alike, codes = told(0.3, missing, rows=4_000, seed=2)
    needs = later(frozen, alike, codes)
    assert needs < 1.08 * applied_variance(frozen, 1.0)
    more, codes = told(0.85, missing, rows=4_000, seed=3)
    assert later(frozen, more, codes) > 1.15 * applied_variance(frozen, 1.0)


def test_a_handful_of_values_is_not_taken_for_determined() -> None:
    frozen = calibrated(*told(0.3, 0.0), [GROUPS])
    numbers, codes = told(0.3, 0.0, rows=4_000, seed=4)
    whole = later(frozen, numbers, codes)
    numbers[12:, 0] = np.nan
    assert later(frozen, numbers, codes) <= whole


def later(frozen: Calibration, numbers: Matrix, codes: Codes) -> float:
    S = covariance_shape(row_moments(numbers))
    found = recalibrated(frozen, numbers, codes, [GROUPS], S)
    assert found is not None
    return applied_variance(found, 1.0)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), d=st.integers(1, 6), missing=st.sampled_from([0.1, 0.5, 0.9]))
def test_matrices_stay_within_their_bounds(seed: int, d: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, d)) + 0.1 * rng.normal(size=(60, d))
    present = rng.random(X.shape) >= missing
    X = np.where(present, X, 0.0)
    D = np.sqrt(60 / np.maximum(present.sum(axis=0), 1))
    inner = X.T @ X * np.outer(D, D)
    outer = paired_covariance(X.T @ X, (X**2).T @ present, np.diag(inner))
    bound = inner + 0.2 * np.diag(np.diag(inner))
    scale = float(np.trace(inner)) + 1e-300
    for found, most in (
        (towards(inner, outer), None),
        (towards(inner, outer, bound), bound),
        (within(outer @ outer / scale, inner), inner),
    ):
        assert np.linalg.eigvalsh(found)[0] >= -1e-8 * scale
        if most is not None:
            assert np.linalg.eigvalsh(most - found)[0] >= -1e-8 * scale
    np.testing.assert_allclose(np.diag(towards(inner, outer)), np.diag(inner))
