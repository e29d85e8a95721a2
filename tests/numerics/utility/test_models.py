"""Models learnt from a copy and tested on the original: nothing changed, something lost, all lost."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.tables import MixedTable
from app.numerics.utility.models import (
    PredictionScore,
    halves,
    regression_score,
    regression_target,
    tree_score,
    tree_target,
)
from app.numerics.utility.prediction import PredictionTarget

ROWS = 4_000


def linked(seed: int = 0) -> MixedTable:
    """y = 2x + c + noise of variance 1, with Var(2x + c) = 5; a class that x and c decide."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=ROWS)
    c = rng.integers(0, 2, ROWS)
    y = 2 * x + 2 * c + rng.normal(size=ROWS)
    outcome = (x + c > 0.5).astype(np.intp)
    codes = np.stack([c, outcome], axis=1).astype(np.intp)
    return MixedTable(np.stack([x, y], axis=1), codes, (2, 2))


def scored(score: PredictionScore | None) -> float:
    assert score is not None
    return score.score


def test_a_regression_has_the_determination_of_theory() -> None:
    table = linked()
    rows = halves(ROWS, np.random.default_rng(1))
    assert scored(regression_score(table, table, 1, rows)) == pytest.approx(5 / 6, abs=0.015)
    # With noise on x alone the slope is halved: 1.25 of 6 more is missed than 1/6.
    noisy = table.numeric.copy()
    noisy[:, 0] += np.random.default_rng(2).normal(size=ROWS)
    copy = MixedTable(noisy, table.codes[:, :1], (2,))
    table = MixedTable(table.numeric, table.codes[:, :1], (2,))
    learnt = scored(regression_score(table, copy, 1, rows))
    assert learnt == pytest.approx(1 - (1 + 1) / 6, abs=0.02)


def test_a_tree_learns_the_class_and_nothing_from_shuffled_rows() -> None:
    table = linked()
    rows = halves(ROWS, np.random.default_rng(1))
    target = PredictionTarget("categorical", 1)
    assert scored(tree_score(table, table, target, rows, 0)) > 0.97
    # The mean of several: a tree that learnt noise errs for whole groups of rows at once.
    lost = []
    for seed in range(8):
        codes = table.codes.copy()
        codes[:, 1] = np.random.default_rng(seed).permutation(codes[:, 1])
        copy = MixedTable(table.numeric, codes, table.categories)
        lost.append(scored(tree_score(table, copy, target, rows, 0)))
    assert np.mean(lost) == pytest.approx(0.5, abs=0.1)
    number = tree_score(table, table, PredictionTarget("numeric", 1), rows, 0)
    assert number is not None
    assert (number.measure, number.constant) == ("R²", 0.0)
    assert number.score > 0.7


def test_targets_are_the_number_told_best_and_the_last_class() -> None:
    rng = np.random.default_rng(4)
    table = linked()
    with_noise = MixedTable(
        np.column_stack([rng.normal(size=ROWS), table.numeric]), table.codes, table.categories
    )
    assert regression_target(with_noise) in (1, 2)  # either tells the other
    assert tree_target(with_noise) == PredictionTarget("categorical", 1)
    many = MixedTable(table.numeric, np.arange(ROWS, dtype=np.intp)[:, None], (ROWS,))
    assert tree_target(many) == PredictionTarget("numeric", 1)
    alone = MixedTable(table.numeric[:, :1], np.empty((ROWS, 0), dtype=np.intp), ())
    assert regression_target(alone) is None


def test_too_few_rows_or_one_answer_give_no_score() -> None:
    table = linked().taken(np.arange(60))
    rows = halves(60, np.random.default_rng(1))
    assert regression_score(table, table, 1, rows) is None
    assert tree_score(table, table, PredictionTarget("categorical", 1), rows, 0) is None
