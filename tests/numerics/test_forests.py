"""Forests: they learn, judge by trees that have not seen a record, and can be left at any moment."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import r2_score, roc_auc_score

from app.numerics.threads import grown
from app.service.progress import Cancelled, Progress


@pytest.fixture
def rings() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(3_000, 5))
    points[rng.random(points.shape) < 0.05] = np.nan
    return points, (np.nan_to_num(points[:, :2]) ** 2).sum(axis=1)


def test_a_forest_learns_as_well_as_that_of_the_library(
    rings: tuple[np.ndarray, np.ndarray],
) -> None:
    points, radius = rings
    seen, unseen = slice(0, 2_000), slice(2_000, None)
    ours = grown("numbers", points[seen], radius[seen], 50, np.random.default_rng(1))
    theirs = RandomForestRegressor(50, min_samples_leaf=3, max_features="sqrt", random_state=1)
    theirs.fit(points[seen], radius[seen])
    wanted = r2_score(radius[unseen], theirs.predict(points[unseen]))
    assert r2_score(radius[unseen], ours.values(points[unseen])) > wanted - 0.03

    far = np.where(radius > 2, "far", "near")
    ours = grown("classes", points[seen], far[seen], 50, np.random.default_rng(1))
    judge = RandomForestClassifier(50, min_samples_leaf=3, random_state=1, oob_score=True)
    judge.fit(points[seen], far[seen])
    assert (ours.classes(points[unseen]) == far[unseen]).mean() > 0.9
    kept_out = roc_auc_score(far[seen] == "near", ours.shares_unseen(points[seen])[:, 1])
    assert kept_out == pytest.approx(
        roc_auc_score(far[seen] == "near", judge.oob_decision_function_[:, 1]), abs=0.01
    )


def test_trees_that_have_seen_a_record_do_not_judge_it() -> None:
    rng = np.random.default_rng(5)
    points, labels = rng.normal(size=(500, 4)), rng.integers(2, size=500)
    forest = grown("classes", points, labels, 40, rng)
    assert roc_auc_score(labels, forest.shares(points)[:, 1]) > 0.9
    assert abs(roc_auc_score(labels, forest.shares_unseen(points)[:, 1]) - 0.5) < 0.12


def test_the_number_of_cores_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    points, answers = rng.normal(size=(400, 3)), rng.normal(size=400)
    found = []
    for cores in (1, 2, 5):
        monkeypatch.setattr("numba.get_num_threads", lambda cores=cores: cores)
        forest = grown("numbers", points, answers, 10, np.random.default_rng(7))
        found.append(forest.values(points).tobytes())
    assert len(set(found)) == 1


def test_growing_can_be_left_at_any_moment() -> None:
    rng = np.random.default_rng(8)
    points, labels = rng.normal(size=(4_000, 8)), rng.integers(2, size=4_000)
    for moment in np.linspace(0, 0.3, 12):
        progress = Progress()
        ends: list[type[BaseException]] = []

        def work(progress: Progress = progress, ends: list[type[BaseException]] = ends) -> None:
            try:
                with progress.interruptible():
                    while True:
                        grown("classes", points, labels, 40, np.random.default_rng(9))
            except Cancelled:
                ends.append(Cancelled)

        worker = threading.Thread(target=work)
        worker.start()
        time.sleep(moment)
        progress.stop(Cancelled)
        worker.join()
        assert ends == [Cancelled]
    while any(thread.name == "forest" for thread in threading.enumerate()):
        time.sleep(0.01)


def test_a_tree_that_cannot_grow_is_told() -> None:
    with pytest.raises(ValueError, match="infinity"):
        grown("numbers", np.full((20, 2), np.inf), np.arange(20.0), 4, np.random.default_rng(1))
