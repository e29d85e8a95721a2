"""Numbers with gaps that categories tell of: the promise is about the cells that are there.

Cells are missing completely at random, so that those that are there need as much noise as all of them would.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.association import squared_canonical_correlation
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, shape_factor
from tests.numerics.copies.released import Part

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


@pytest.mark.parametrize("explained", [0.3, 0.7, 0.96])
@pytest.mark.parametrize("missing", [0.3, 0.8, 0.9])
def test_gaps_do_not_change_what_the_category_tells(missing: float, explained: float) -> None:
    numbers, codes = told(explained, missing)
    found, before = (
        squared_canonical_correlation(each, codes, [GROUPS]) for each in (numbers, filled(numbers))
    )
    assert found == pytest.approx(explained, abs=0.02)
    if missing >= 0.8:
        assert before < 0.5 * explained


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
    part = Part(numbers, codes)
    promise = v / (1 + v)
    for knows in (False, True):
        left = attacked(numbers, codes, part.applied(v), kept_known=knows)
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
