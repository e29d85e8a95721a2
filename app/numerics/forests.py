"""Random forests [Breiman, 2001] of scikit-learn, grown a few trees at a time to stay cancellable.

| symbol | name here | meaning |
| --- | --- | --- |
| X, y | `features` (n, d), `answers` (n,) | what to learn from, NaN for missing; classes or numbers |
| B | `trees` | each learns from n records drawn with replacement |
"""

from __future__ import annotations

from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import NDArray

from app.numerics.arrays import FloatArray
from app.numerics.cancellation import checkpoint

LEAST_IN_A_LEAF = 3

LARGEST = float(np.finfo(np.float32).max)
"""scikit-learn's trees keep features in single precision; a number beyond it counts as its end."""

PREDICTED_RECORDS = 50_000
"""Records between two checkpoints of a prediction."""


def fitted_forest(
    kind: Literal["classes", "numbers"],
    features: NDArray[Any],
    answers: NDArray[Any],
    trees: int,
    rng: np.random.Generator,
    *,
    out_of_bag: bool = False,
) -> Any:
    """Forest that learnt `answers` from `features`; the same for the same `rng` on any number of cores."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    cores = numba.get_num_threads()
    forest = (RandomForestClassifier if kind == "classes" else RandomForestRegressor)(
        min_samples_leaf=LEAST_IN_A_LEAF,
        max_features="sqrt",
        random_state=int(rng.integers(2**31)),
        n_jobs=cores,
        warm_start=True,
    )
    within = np.clip(features, -LARGEST, LARGEST)
    for grown in [*range(cores, trees, cores), trees]:
        checkpoint()
        forest.set_params(n_estimators=grown, oob_score=out_of_bag and grown == trees)
        forest.fit(within, answers)
    return forest


def class_shares(forest: Any, features: NDArray[Any]) -> FloatArray:
    """Mean over the trees of the share of each class, (n, classes)."""
    return _in_parts(forest.predict_proba, features)


def predictions(forest: Any, features: NDArray[Any]) -> NDArray[Any]:
    """Class or number that the forest predicts for each record, (n,)."""
    return _in_parts(forest.predict, features)


def _in_parts(predict: Any, features: NDArray[Any]) -> NDArray[Any]:
    parts = []
    for start in range(0, len(features), PREDICTED_RECORDS):
        checkpoint()
        part = features[start : start + PREDICTED_RECORDS]
        parts.append(predict(np.clip(part, -LARGEST, LARGEST)))
    return np.concatenate(parts)
