"""Models trained on a copy and on the original, tested on held-out original rows.

| here | meaning |
|---|---|
| regression | least squares of a number on all other columns: numbers, and indicators of frequent categories |
| tree | one decision tree on all other columns |
| R² | 1 - Σ(wanted - answered)²/Σ(wanted - mean)², below 0 for a model worse than the mean |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.cancellation import checkpoint
from app.numerics.tables import MixedTable
from app.numerics.utility.prediction import PredictionTarget

TRAINED = 0.7
FEWEST_ROWS = 50
MOST_FEATURES = 200
MOST_INDICATORS = 12
ROWS_FOR_EACH = 10
LEAVES = 60
FEWEST_IN_A_LEAF = 0.001
MOST_CLASSES = 20
RIDGE = 1e-9
"""Of a column's variance: what keeps columns that repeat each other from dividing by nothing."""


@dataclass(frozen=True)
class TrainTestSplit:
    """Places of the rows to learn from and of those to be tested on."""

    training: Places
    testing: Places


@dataclass(frozen=True)
class PredictionScore:
    """R² or balanced accuracy on original rows; `constant` is that of the best answer without a model."""

    measure: str
    score: float
    constant: float
    tested: int


def halves(rows: int, rng: np.random.Generator) -> TrainTestSplit:
    """70 % of the rows at random to learn from, the others to be tested on."""
    order = rng.permutation(rows)
    cut = round(TRAINED * rows)
    return TrainTestSplit(order[:cut], order[cut:])


def regression_target(original: MixedTable) -> int | None:
    """The number that the other columns tell best, by least squares; None where there is no other."""
    features = _design(original, _frequent(original), None, _most(original.records))
    d = min(original.numeric.shape[1], features.shape[1])
    if features.shape[1] < 2 or not d or len(features) < FEWEST_ROWS:
        return None
    scaled = _standardised(features)
    gram = scaled.T @ scaled / len(scaled)
    explained = 1 - 1 / np.diag(np.linalg.inv(gram + RIDGE * np.eye(len(gram))))[:d]
    varied = np.diag(gram)[:d] > 0
    return int(np.argmax(np.where(varied, explained, -np.inf))) if varied.any() else None


def tree_target(original: MixedTable) -> PredictionTarget | None:
    """The last column of 2 to 20 categories, as an outcome stands last in many tables; else the last number."""
    for place in reversed(range(len(original.categories))):
        _, counts = np.unique(original.codes[:, place], return_counts=True)
        if 2 <= len(counts) <= MOST_CLASSES and counts.max() < len(original.codes):
            return PredictionTarget("categorical", place)
    d = original.numeric.shape[1]
    return PredictionTarget("numeric", d - 1) if d else None


def regression_score(
    original: MixedTable, learnt: MixedTable, target: int, rows: TrainTestSplit
) -> PredictionScore | None:
    """R² of the regression of a number, learnt from some rows of `learnt`.

    None where too few rows have the number, or it does not vary.
    """
    frequent = _frequent(original)
    checkpoint()
    there = ~np.isnan(original.numeric[:, target])
    training, testing = (each[there[each]] for each in (rows.training, rows.testing))
    wanted = original.numeric[testing, target]
    if min(len(training), len(testing)) < FEWEST_ROWS or not wanted.std() > 0:
        return None
    most = _most(len(training))
    known = _design(learnt.taken(training), frequent, target, most)
    asked = _design(original.taken(testing), frequent, target, most)
    answered = _fitted(known, learnt.numeric[training, target], asked)
    return PredictionScore("R²", _determination(wanted, answered), 0.0, len(testing))


def tree_score(
    original: MixedTable,
    learnt: MixedTable,
    target: PredictionTarget,
    rows: TrainTestSplit,
    seed: int,
) -> PredictionScore | None:
    """The score of a tree learnt from some rows of `learnt`.

    None where there are too few rows, one answer, or no other column.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    categorical = target.kind == "categorical"
    checkpoint()
    wanted, answers = _answers(original, target), _answers(learnt, target)
    there = ~np.isnan(wanted)
    training, testing = (each[there[each]] for each in (rows.training, rows.testing))
    asked, known = _columns(original.taken(testing), target), _columns(learnt, target)[training]
    if min(len(training), len(testing)) < FEWEST_ROWS or not known.shape[1]:
        return None
    if any(np.ptp(each) == 0 for each in (answers[training], wanted[testing])):
        return None
    shape: dict[str, Any] = {
        "max_leaf_nodes": LEAVES,
        "min_samples_leaf": max(5, round(FEWEST_IN_A_LEAF * len(training))),
        "random_state": seed,
    }
    tree = (
        DecisionTreeClassifier(class_weight="balanced", **shape)
        if categorical
        else DecisionTreeRegressor(**shape)
    )
    answered = tree.fit(known, answers[training]).predict(asked)
    if not categorical:
        return PredictionScore("R²", _determination(wanted[testing], answered), 0.0, len(testing))
    found, classes = _balanced(wanted[testing], answered)
    return PredictionScore("balanced accuracy", found, 1 / classes, len(testing))


def _answers(table: MixedTable, target: PredictionTarget) -> FloatArray:
    if target.kind == "numeric":
        return table.numeric[:, target.position]
    return table.codes[:, target.position].astype(np.float64)


def _columns(table: MixedTable, target: PredictionTarget) -> FloatArray:
    numeric, codes = table.numeric, table.codes.astype(np.float64)
    if target.kind == "numeric":
        numeric = np.delete(numeric, target.position, axis=1)
    else:
        codes = np.delete(codes, target.position, axis=1)
    return np.hstack([numeric, codes])


def _frequent(table: MixedTable) -> list[Places]:
    """Most frequent codes of each categorical column, but for the first of them."""
    found = []
    for column in table.codes.T:
        codes, counts = np.unique(column, return_counts=True)
        found.append(codes[np.argsort(-counts, kind="stable")][1 : MOST_INDICATORS + 1])
    return found


def _design(
    table: MixedTable, frequent: Sequence[Places], without: int | None, most: int
) -> FloatArray:
    """Numbers with gaps at the mean, but for one, then indicators, (n, p); p is `most` or less."""
    numeric = table.numeric if without is None else np.delete(table.numeric, without, axis=1)
    present = ~np.isnan(numeric)
    means = np.where(present, numeric, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    columns = [np.where(present, numeric, means)]
    for codes, known in zip(table.codes.T, frequent, strict=True):
        if sum(each.shape[1] for each in columns) >= most:
            break
        columns.append((codes[:, None] == known).astype(np.float64))
    return np.hstack(columns)[:, :most]


def _most(rows: int) -> int:
    return min(MOST_FEATURES, rows // ROWS_FOR_EACH)


def _standardised(features: FloatArray) -> FloatArray:
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _fitted(known: FloatArray, values: FloatArray, asked: FloatArray) -> FloatArray:
    spread = known.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    scaled = (known - known.mean(axis=0)) / unit
    gram = scaled.T @ scaled / len(scaled) + RIDGE * np.eye(known.shape[1])
    weights = np.linalg.solve(gram, scaled.T @ (values - values.mean()) / len(scaled))
    return np.asarray((asked - known.mean(axis=0)) / unit @ weights + values.mean())


def _determination(wanted: FloatArray, answered: FloatArray) -> float:
    total = float(((wanted - wanted.mean()) ** 2).sum())
    return 1 - float(((wanted - answered) ** 2).sum()) / total if total > 0 else 0.0


def _balanced(wanted: FloatArray, answered: FloatArray) -> tuple[float, int]:
    """The mean over classes of the share answered rightly, and how many classes there are."""
    right = [float((answered[wanted == one] == one).mean()) for one in np.unique(wanted)]
    return float(np.mean(right)), len(right)
