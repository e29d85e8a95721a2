"""Columns that tell of numbers together: found, joined, and left what was promised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.copies.calibrating.applied import applied_variance
from app.numerics.copies.calibrating.calibration import calibrated, recalibrated
from app.numerics.copies.calibrating.joining import (
    LEAST,
    SURE_OF_PAIRS,
    TELLING,
    joined_columns,
    shares_of_pairs,
    telling_together,
    told_by_pairs,
    told_together,
)
from app.numerics.copies.calibrating.learnt import Learnt

Matrix = NDArray[np.float64]
Codes = NDArray[np.int32]


def coins(rows: int, columns: int, values: int = 2, seed: int = 1) -> Codes:
    return np.random.default_rng(seed).integers(0, values, (rows, columns)).astype(np.int32)


def noise(rows: int, columns: int, seed: int = 2) -> Matrix:
    return np.random.default_rng(seed).normal(size=(rows, columns))


def test_what_cells_explain_is_measured() -> None:
    """A share of 0.2 by 100 cells, and with three of four values missing."""
    cells = coins(40_000, 1, 100)[:, 0].astype(np.intp)
    effects = noise(100, 1, 3)
    effects = (effects - effects.mean()) / effects.std()
    R = np.sqrt(0.2) * effects[cells] + np.sqrt(0.8) * noise(len(cells), 1)
    assert told_together(R, cells) == pytest.approx(0.2, abs=0.02)
    R[np.random.default_rng(4).random(len(R)) < 0.75] = 0.0
    assert told_together(R, cells) == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("values", [2, 8, 60])
def test_chance_joins_nothing(values: int) -> None:
    """Nor do numbers with rare large values."""
    for seed in range(10):
        codes = coins(4_000, 5, values, seed)
        R = noise(4_000, 6, seed + 100)
        R[:, 3:] = np.sinh(2 * R[:, 3:])
        assert telling_together(R, R.var(axis=0), codes) == []


def test_the_columns_that_tell_together_are_named() -> None:
    codes = coins(8_000, 5)
    R = noise(8_000, 3)
    R[:, 1] += codes[:, 1] == codes[:, 3]
    R[:, 2] += 1.5 * (codes[:, 0] ^ codes[:, 2])
    R -= R.mean(axis=0)
    assert telling_together(R, R.var(axis=0), codes) == [(0, 2), (1, 3)]
    parity = (codes.sum(axis=1) % 2 - 0.5)[:, None] + noise(8_000, 1)
    assert telling_together(parity, parity.var(axis=0), codes) == [(0, 1, 2, 3, 4)]


def test_joined_columns_have_no_rare_categories_and_not_too_many() -> None:
    codes = coins(1_000, 2, 10)
    codes[:8] = 11
    (joined,) = joined_columns(codes, [(0, 1)], np.inf)
    counts = np.bincount(joined)
    assert (counts[:-1] >= LEAST).all()
    assert len(set(joined[:8].tolist())) == 1
    for category in range(len(counts) - 1):
        assert len(np.unique(codes[joined == category], axis=0)) == 1
    assert joined_columns(codes, [(0, 1)], len(counts) - 1) == []


def test_a_number_that_two_categories_determine_together_travels_with_them() -> None:
    codes = coins(4_000, 2, 3)
    same = (codes[:, 0] == codes[:, 1]) + 0.05 * noise(4_000, 1)[:, 0]
    found = calibrated(np.column_stack([same, noise(4_000, 1, 5)[:, 0]]), codes, [3, 3])
    assert found.travelling == (0,)
    # Facts are those of the table's own categories, and of the number.
    assert found.fact_columns.tolist() == [0, 0, 0, 1, 1, 1, 2]


def test_what_is_told_together_costs_as_much_as_what_one_category_tells() -> None:
    """Lines alone: four cells of two columns are one column of four categories."""
    codes = coins(30_000, 2)
    pair = (2 * codes[:, 0] + codes[:, 1]).astype(np.int32)
    numbers = noise(30_000, 2)
    numbers[:, 0] += codes[:, 0] ^ codes[:, 1]
    apart = replace(calibrated(numbers, codes, [2, 2]), learnt=Learnt.nothing())
    joint = replace(calibrated(numbers, pair[:, None], [4]), learnt=Learnt.nothing())
    assert applied_variance(joint, 1.0) > 1.05
    assert applied_variance(apart, 1.0) == pytest.approx(applied_variance(joint, 1.0), rel=0.005)


def test_later_rows_are_asked_too() -> None:
    codes = coins(6_000, 2)
    numbers = noise(6_000, 1)
    frozen = calibrated(numbers, codes, [2, 2])
    told = numbers + 2 * (codes[:, :1] ^ codes[:, 1:])
    S = np.array([[told.var()]])
    plain, later = (recalibrated(frozen, one, codes, [2, 2], S) for one in (numbers, told))
    assert plain is not None
    assert later is not None
    assert applied_variance(later, 1.0) > 1.1 > applied_variance(plain, 1.0)


def test_little_that_is_told_together_is_left_alone() -> None:
    codes = coins(8_192, 2)
    R = noise(8_192, 1)
    R[:, 0] += 0.1 * ((codes[:, 0] ^ codes[:, 1]) - 0.5)
    assert TELLING > 0.1**2 / 4
    assert telling_together(R, R.var(axis=0), codes) == []


@pytest.mark.parametrize("gaps", [False, True])
def test_pairs_measure_what_rare_categories_tell(*, gaps: bool) -> None:
    """1,500 rows of 3,000 categories: hardly two of one, and yet 0.6 is told from 0.5 and from 0.7."""
    found = []
    for seed in range(60):
        codes = coins(1_500, 1, 3_000, seed)[:, 0]
        told = noise(3_000, 1, seed + 100)[codes]
        R = np.hstack(
            [np.sqrt(0.6) * told + np.sqrt(0.4) * noise(1_500, 1, seed), noise(1_500, 1, seed + 7)]
        )
        present = np.random.default_rng(seed).random(R.shape) < (0.8 if gaps else 1.0)
        found.append(shares_of_pairs(np.where(present, R, 0.0), present, codes))
    shares, errors = np.transpose(found, (1, 2, 0))
    of_mean = shares.std(axis=1) / np.sqrt(60)
    assert of_mean[0] < 0.03
    assert abs(shares[0].mean() - 0.6) < 3 * of_mean[0]
    assert abs(shares[1].mean()) < 3 * of_mean[1]
    # Where nothing is told, the error is what the shares differ by.
    assert errors[1].mean() == pytest.approx(shares[1].std(), rel=0.25)


def test_what_may_be_chance_is_taken_from_what_pairs_tell() -> None:
    codes = coins(1_500, 2, 3_000)
    told = noise(3_000, 1, 3)[codes[:, 1]]
    R = np.sqrt(0.9) * told + np.sqrt(0.1) * noise(1_500, 1)
    present = np.ones(R.shape, dtype=bool)
    share, error = shares_of_pairs(R, present, codes[:, 1])
    assert told_by_pairs(R, present, codes) == pytest.approx(share - SURE_OF_PAIRS * error)
    assert 0.3 < told_by_pairs(R, present, codes)[0] < 0.9
    for seed in range(200):
        assert told_by_pairs(noise(1_500, 1, seed) ** 3, present, codes) == 0


def test_a_few_rows_that_are_alike_tell_nothing() -> None:
    """However far out they lie: they may be alike by chance."""
    codes = np.arange(400, dtype=np.int32)[:, None].copy()
    codes[:16] = np.repeat(np.arange(8), 2)[:, None]
    R = noise(400, 1)
    R[:16] = 50.0
    assert told_by_pairs(R, np.ones(R.shape, dtype=bool), codes) == 0


@pytest.mark.parametrize("unit", [1e-100, 1e100, 1e150])
def test_pairs_tell_the_same_in_any_unit(unit: float) -> None:
    codes = coins(400, 1, 100)
    R = noise(100, 2)[codes[:, 0]] + noise(400, 2)
    present = np.ones(R.shape, dtype=bool)
    told = told_by_pairs(R, present, codes)
    assert told.min() > 0.1
    np.testing.assert_allclose(told_by_pairs(unit * R, present, codes), told)
    assert (told_by_pairs(0 * R, present, codes) == 0).all()
