"""A good release trains a good model, noise trains none; chance cannot tell equal samples apart."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from app.numerics.tables import MixedTable
from app.numerics.utility.prediction import (
    PredictionTarget,
    train_on_release_test_on_original,
)


def records(n: int, seed: int) -> MixedTable:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = x + 0.2 * rng.normal(size=n)
    group = (x > 0).astype(np.intp)
    return MixedTable(np.column_stack([x, y]), group[:, None], (2,))


def noise(n: int, seed: int) -> MixedTable:
    table = records(n, seed)
    rng = np.random.default_rng(seed + 1)
    shuffled = np.column_stack([rng.permutation(column) for column in table.numeric.T])
    return MixedTable(shuffled, table.codes, table.categories)


@pytest.mark.parametrize(
    ("kind", "position", "constant"), [("categorical", 0, 0.5), ("numeric", 1, 0.0)]
)
def test_a_release_of_the_same_distribution_trains_as_well_and_noise_does_not(
    kind: Literal["numeric", "categorical"], position: int, constant: float
) -> None:
    original = records(600, 1)
    target = PredictionTarget(kind, position)
    good = train_on_release_test_on_original(
        original, records(600, 2), target, np.random.default_rng(3)
    )
    bad = train_on_release_test_on_original(
        original, noise(600, 4), target, np.random.default_rng(3)
    )
    assert good.constant == constant
    assert good.tested_records == 180
    assert good.trained_on_release > 0.85
    assert good.trained_on_release > good.trained_on_original - 0.05
    assert bad.trained_on_release < constant + 0.2


def test_missing_cells_are_features_and_records_without_the_target_are_left_out() -> None:
    original = records(400, 5)
    original.numeric[:50, 0] = np.nan
    original.codes[50:100, 0] = -1
    scores = train_on_release_test_on_original(
        original, original, PredictionTarget("categorical", 0), np.random.default_rng(6)
    )
    assert scores.tested_records == 105


def test_a_single_class_is_misuse() -> None:
    table = records(50, 7)
    table.codes[:] = 0
    with pytest.raises(ValueError, match="two answers"):
        train_on_release_test_on_original(
            table, table, PredictionTarget("categorical", 0), np.random.default_rng(8)
        )
