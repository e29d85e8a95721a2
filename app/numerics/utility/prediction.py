"""Models as judges of a release: train on it and test on the original, or tell the two apart (two-sample)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.numerics.arrays import FloatArray
from app.numerics.forests import fitted_forest, predictions
from app.numerics.tables import MixedTable

MOST_TRAINING_RECORDS = 10_000
"""A forest learns little more from more records, and its training takes longer than the synthesis."""

TREES = 50


@dataclass(frozen=True)
class PredictionTarget:
    """The column to predict: its position among the numeric columns or among the codes."""

    kind: Literal["numeric", "categorical"]
    position: int


@dataclass(frozen=True)
class PredictionScores:
    """Scores on original records not trained on.

    Balanced accuracy for a categorical target, R² for a numeric one: of a model trained on the
    original, of one trained on the release, and of the best constant answer.
    """

    measure: str
    trained_on_original: float
    trained_on_release: float
    constant: float
    tested_records: int


def train_on_release_test_on_original(
    original: MixedTable, released: MixedTable, target: PredictionTarget, rng: np.random.Generator
) -> PredictionScores:
    """The scores of random forests for `target`.

    A random 70 % of the original trains the model to compare with; the other 30 % tests both. The
    release has seen the test records too, through its parameters, which favours it slightly.
    Records without the target are left out. Raises ValueError where fewer than ten records, or a
    single class, are left to train on, or there is no other column.
    """
    original = _with_target(original, target)
    order = rng.permutation(original.records)
    cut = round(0.7 * original.records)
    return train_on_each(
        original.taken(order[:cut]), released, original.taken(order[cut:]), target, rng
    )


def train_on_each(
    training: MixedTable,
    released: MixedTable,
    testing: MixedTable,
    target: PredictionTarget,
    rng: np.random.Generator,
) -> PredictionScores:
    """The scores on `testing` of forests trained on the originals `training` and on `released`.

    Records without the target are left out; fails as `train_on_release_test_on_original` does.
    """
    training, released, testing = (
        _with_target(table, target) for table in (training, released, testing)
    )
    wanted = _answers(testing, target)
    scores = [
        _score(target, wanted, _learnt(table, target, testing, rng))
        for table in (training, released)
    ]
    return PredictionScores(
        "balanced accuracy" if target.kind == "categorical" else "R²",
        scores[0],
        scores[1],
        1 / np.unique(wanted).size if target.kind == "categorical" else 0.0,
        testing.records,
    )


def _with_target(table: MixedTable, target: PredictionTarget) -> MixedTable:
    if target.kind == "categorical":
        present = table.codes[:, target.position] >= 0
    else:
        present = ~np.isnan(table.numeric[:, target.position])
    return table.taken(np.flatnonzero(present))


def _answers(table: MixedTable, target: PredictionTarget) -> NDArray[Any]:
    if target.kind == "categorical":
        return table.codes[:, target.position]
    return table.numeric[:, target.position]


def _features(table: MixedTable, target: PredictionTarget) -> FloatArray:
    """All other columns, NaN for missing; a forest can cut between any two codes."""
    codes = np.where(table.codes < 0, np.nan, table.codes)
    numeric = table.numeric
    if target.kind == "categorical":
        codes = np.delete(codes, target.position, axis=1)
    else:
        numeric = np.delete(numeric, target.position, axis=1)
    return np.hstack([numeric, codes])


def _learnt(
    table: MixedTable, target: PredictionTarget, testing: MixedTable, rng: np.random.Generator
) -> NDArray[Any]:
    """Answers to `testing` of a forest trained on `table`."""
    if table.records > MOST_TRAINING_RECORDS:
        table = table.taken(rng.permutation(table.records)[:MOST_TRAINING_RECORDS])
    answers = _answers(table, target)
    features = _features(table, target)
    if len(answers) < 10 or features.shape[1] == 0 or np.unique(answers).size < 2:
        raise ValueError("training needs ten records, two answers and one other column")
    kind: Literal["classes", "numbers"] = "classes" if target.kind == "categorical" else "numbers"
    forest = fitted_forest(kind, features, answers, TREES, rng)
    return predictions(forest, _features(testing, target))


def _score(target: PredictionTarget, wanted: NDArray[Any], answered: NDArray[Any]) -> float:
    from sklearn.metrics import r2_score, recall_score

    if target.kind == "numeric":
        return float(r2_score(wanted, answered))
    classes = np.unique(wanted)
    return float(recall_score(wanted, answered, labels=classes, average="macro", zero_division=0))
