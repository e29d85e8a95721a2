"""Threads of mathematics: when others may begin, and forests [Breiman, 2001] that grow on all cores.

Whoever cancels a job may leave a forest at any moment. The forests of scikit-learn grow in a pool of threads that
an exception from outside can catch half made, and that then waits for itself for ever. Here the one who asks only
waits, in Python, and an exception there ends the growing after the trees under way; the trees are scikit-learn's.

| symbol | name here | meaning |
| --- | --- | --- |
| X, y | `features` (n, d), `answers` (n,) | what to learn from, NaN for missing; classes or numbers |
| B | `trees` | each learns from n records drawn with replacement |
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from app.numerics.arrays import Codes, FloatArray

starting = threading.Lock()
"""Held while a thread is started by work that may be ended from outside, and while that end is raised.

A thread that is being born has the number of its parent for a moment. An exception that is raised in the
parent then ends the child before it has begun, and the parent waits for it for ever.
"""

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

LEAST_IN_A_LEAF = 3
LOOK_SECONDS = 0.05


class Forest(NamedTuple):
    """Trees, and how often each drew each record it learnt from, (B, n)."""

    trees: list[Any]
    drawn: Codes

    def values(self, features: NDArray[Any]) -> FloatArray:
        """The mean answer of all trees to each record, (n,)."""
        narrow = features.astype(np.float32)
        mean: FloatArray = np.mean(
            each_on_all_cores(lambda tree: tree.predict(narrow), self.trees), axis=0
        )
        return mean

    def shares(self, features: NDArray[Any]) -> FloatArray:
        """The mean share of each class, (n, classes)."""
        narrow = features.astype(np.float32)
        found = each_on_all_cores(lambda tree: tree.predict_proba(narrow), self.trees)
        total: FloatArray = sum(found)
        return total / len(self.trees)

    def classes(self, features: NDArray[Any]) -> NDArray[Any]:
        """The class that most of the trees take each record for, (n,)."""
        chosen: NDArray[Any] = self.trees[0].classes_[self.shares(features).argmax(axis=1)]
        return chosen

    def shares_unseen(self, features: NDArray[Any]) -> FloatArray:
        """As `shares` of the records it learnt from, each judged by the trees that did not draw it.

        A record that every tree has drawn, which 40 trees leave one of 10⁸ to be, gets equal shares.
        """
        narrow = features.astype(np.float32)
        unseen = [np.flatnonzero(drawn == 0) for drawn in self.drawn]
        found = each_on_all_cores(
            lambda one: one[0].predict_proba(narrow[one[1]]),
            list(zip(self.trees, unseen, strict=True)),
        )
        total = np.zeros((len(features), len(self.trees[0].classes_)))
        asked = np.zeros(len(features), dtype=np.intp)
        for records, shares in zip(unseen, found, strict=True):
            total[records] += shares
            asked[records] += 1
        total[asked == 0] = 1 / total.shape[1]
        return total / np.maximum(asked, 1)[:, None]


def grown(
    kind: Literal["classes", "numbers"],
    features: NDArray[Any],
    answers: NDArray[Any],
    trees: int,
    rng: np.random.Generator,
) -> Forest:
    """A forest that learnt `answers` from `features`; the same for the same `rng` on any number of cores."""
    n = len(answers)
    narrow = features.astype(np.float32)
    drawn = np.stack(
        [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(trees)]
    ).astype(np.int32)
    seeds = rng.integers(2**31, size=trees).tolist()
    made = each_on_all_cores(
        lambda number: _tree(kind, seeds[number]).fit(narrow, answers, sample_weight=drawn[number]),
        range(trees),
    )
    return Forest(made, drawn)


def each_on_all_cores(work: Callable[[Asked], Answer], asked: Sequence[Asked]) -> list[Answer]:
    """`work` of each, in their order; an exception from outside ends it after those under way."""
    found: dict[int, Answer] = {}
    failures: list[BaseException] = []
    waiting = iter(range(len(asked)))
    left = threading.Event()

    def take_on() -> None:
        try:
            for place in waiting:
                if left.is_set():
                    return
                found[place] = work(asked[place])
        except BaseException as failure:
            failures.append(failure)

    threads = [
        threading.Thread(target=take_on, name="forest", daemon=True)
        for _ in range(min(len(asked), numba.get_num_threads()))
    ]
    try:
        for thread in threads:
            with starting:
                thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(LOOK_SECONDS)
    finally:
        left.set()
    if failures:
        raise failures[0]
    return [found[place] for place in range(len(asked))]


def _tree(kind: Literal["classes", "numbers"], seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    tree = DecisionTreeClassifier if kind == "classes" else DecisionTreeRegressor
    return tree(min_samples_leaf=LEAST_IN_A_LEAF, max_features="sqrt", random_state=seed)
