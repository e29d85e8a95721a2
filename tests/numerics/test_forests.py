"""Random forests grown a few trees at a time: equal to those of one fit, on any number of cores."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score

from app.numerics import forests
from app.numerics.cancellation import cancellable
from app.numerics.forests import class_shares, fitted_forest, predictions


def some_records(n: int = 3_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(n, 5))
    points[rng.random(points.shape) < 0.05] = np.nan
    return points, (np.nan_to_num(points[:, :2]) ** 2).sum(axis=1)


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_a_forest_is_that_of_one_fit(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.get_num_threads", lambda: cores)
    monkeypatch.setattr(forests, "PREDICTED_RECORDS", 700)
    points, radius = some_records()
    settings = {"min_samples_leaf": 3, "max_features": "sqrt"}
    seed = int(np.random.default_rng(1).integers(2**31))

    whole = RandomForestRegressor(20, random_state=seed, **settings).fit(points, radius)
    ours = fitted_forest("numbers", points, radius, 20, np.random.default_rng(1))
    np.testing.assert_allclose(predictions(ours, points), whole.predict(points), rtol=1e-12)

    far = np.where(radius > 2, "far", "near")
    judge = RandomForestClassifier(40, random_state=seed, oob_score=True, **settings)
    judge.fit(points, far)
    found = fitted_forest("classes", points, far, 40, np.random.default_rng(1), out_of_bag=True)
    np.testing.assert_allclose(class_shares(found, points), judge.predict_proba(points), rtol=1e-12)
    np.testing.assert_array_equal(predictions(found, points), judge.predict(points))
    np.testing.assert_allclose(found.oob_decision_function_, judge.oob_decision_function_)


def test_trees_that_have_seen_a_record_do_not_judge_it() -> None:
    rng = np.random.default_rng(5)
    points, labels = rng.normal(size=(500, 4)), rng.integers(2, size=500)
    forest = fitted_forest("classes", points, labels, 40, rng, out_of_bag=True)
    assert roc_auc_score(labels, class_shares(forest, points)[:, 1]) > 0.9
    assert abs(roc_auc_score(labels, forest.oob_decision_function_[:, 1]) - 0.5) < 0.12


def test_growing_and_predicting_pass_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.get_num_threads", lambda: 4)
    monkeypatch.setattr(forests, "PREDICTED_RECORDS", 100)
    points, radius = some_records(300)
    passed: list[None] = []
    with cancellable(lambda: passed.append(None)):
        forest = fitted_forest("numbers", points, radius, 10, np.random.default_rng(1))
        assert len(passed) == 3
        predictions(forest, points)
        assert len(passed) == 6


def test_numbers_beyond_single_precision_are_learnt_from() -> None:
    rng = np.random.default_rng(6)
    points = rng.choice([-1e149, 0.0, 1e149, np.nan], size=(300, 2))
    labels = points[:, 0] > 0
    forest = fitted_forest("classes", points, labels, 10, rng)
    np.testing.assert_array_equal(predictions(forest, points), labels)
