"""Boosted trees that know the kept rows, on real tables: what is left is what was promised.

Where it is not, the column is skewed or discrete, and the best guess from its own noisy value alone
already leaves less: the owner was told (`best_guess_error`), and the test says which columns these are.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from app.numerics.copies.calibrating.applied import Calibration, applied_variance, own_variances
from app.numerics.copies.calibrating.calibration import calibrated
from app.numerics.copies.calibrating.learnt import Learnt
from app.numerics.copies.calibrating.univariate_error import best_guess_error
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, shape_factor

Matrix = NDArray[np.float64]
Codes = NDArray[np.int32]

DATA = Path(__file__).parents[4] / "shared" / "data"
ROWS = 24_000


class Attacked:
    """A table, a copy of it at v, and trees fitted to half of its true rows."""

    def __init__(
        self, numbers: Matrix, codes: Codes, v: float, *, applied: float | None = None
    ) -> None:
        self.numbers, self.codes = numbers, codes
        self.sizes = [int(column.max()) + 1 for column in codes.T]
        self.calibration: Calibration = calibrated(numbers, codes, self.sizes)
        self.a = applied_variance(self.calibration, v) if applied is None else applied
        rng = np.random.default_rng(1)
        n = len(numbers)
        self.kept = rng.random(n) < 1 / (1 + self.a)
        donors = rng.integers(0, n, n)
        noised = list(self.calibration.noised)
        self.S = covariance_shape(row_moments(numbers[:, noised]))
        noise = rng.normal(size=(n, len(noised))) @ shape_factor(self.S).T
        noisy = numbers[:, noised] + np.sqrt(self.a) * noise
        record = np.column_stack([codes, numbers[:, list(self.calibration.travelling)]])
        shown = np.where(self.kept[:, None], record, record[donors])
        # A replaced record tells nothing, and who knows that it was replaced does not look at it.
        self.known = np.column_stack([noisy, np.where(self.kept[:, None], shown, np.nan)])
        self.half = rng.permutation(n)[: n // 2]
        self.rest = np.setdiff1d(np.arange(n), self.half)

    def left_of_number(self, place: int) -> float:
        target = self.numbers[:, place]
        if place in self.calibration.travelling:
            return self._left_where_replaced(target)
        trees = HistGradientBoostingRegressor(max_iter=80, random_state=0)
        trees.fit(self.known[self.half], target[self.half])
        error = (target - trees.predict(self.known))[self.rest]
        return float((error**2).mean() / target[self.rest].var())

    def left_of_category(self, column: int, value: int) -> float:
        return self._left_where_replaced((self.codes[:, column] == value).astype(float))

    def _left_where_replaced(self, target: Matrix) -> float:
        """A kept record is known; of the others the noisy numbers tell."""
        noisy = self.known[:, : len(self.calibration.noised)]
        error = np.zeros(len(target))
        learn, judge = (rows[~self.kept[rows]] for rows in (self.half, self.rest))
        if noisy.shape[1] == 0:
            error[judge] = target[judge] - target.mean()
        elif set(np.unique(target)) <= {0.0, 1.0}:
            chances = HistGradientBoostingClassifier(max_iter=40, learning_rate=0.1, random_state=0)
            chances.fit(noisy[learn], target[learn])
            error[judge] = target[judge] - chances.predict_proba(noisy[judge])[:, 1]
        else:
            trees = HistGradientBoostingRegressor(max_iter=80, random_state=0)
            trees.fit(noisy[learn], target[learn])
            error[judge] = target[judge] - trees.predict(noisy[judge])
        return float((error[self.rest] ** 2).mean() / target[self.rest].var())

    def most_exposed(self, v: float) -> list[tuple[int, int]]:
        """The category of each column that needs the most noise by itself."""
        needs = own_variances(self.calibration, v)[len(self.calibration.noised) :]
        found = []
        for column, size in enumerate(self.sizes):
            own = needs[self.calibration.fact_columns == column]
            there = np.flatnonzero(np.bincount(self.codes[:, column], minlength=size))
            found.append((column, int(there[own.argmax()])))
        return found

    def flagged(self, place: int, promised: float) -> bool:
        """Whether the owner was told that this number can be guessed beyond the promise."""
        if place in self.calibration.travelling:
            return False
        variance = self.S.diagonal()[self.calibration.noised.index(place)]
        return best_guess_error(self.numbers[:, place], self.a * float(variance)) < promised


def shared_table(name: str, numeric: list[str], categorical: list[str]) -> tuple[Matrix, Codes]:
    table = pyarrow.csv.read_csv(DATA / name)
    chosen = np.sort(np.random.default_rng(0).permutation(table.num_rows)[:ROWS])
    table = table.take(chosen)
    numbers = np.column_stack([table.column(one).to_numpy().astype(float) for one in numeric])
    codes = np.column_stack(
        [
            table.column(one)
            .combine_chunks()
            .dictionary_encode(null_encoding="encode")
            .indices.to_numpy()
            for one in categorical
        ]
    )
    return numbers, codes.astype(np.int32)


def adult() -> tuple[Matrix, Codes]:
    return shared_table(
        "adult.csv",
        ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"],
        [
            "workclass",
            "education",
            "marital_status",
            "occupation",
            "relationship",
            "race",
            "sex",
            "native_country",
            "income",
        ],
    )


def ages_and_bands() -> tuple[Matrix, Codes]:
    rng = np.random.default_rng(2)
    age = rng.normal(45, 15, ROWS)
    income = 1_000 + 30 * age + rng.normal(0, 300, ROWS)
    codes = [np.digitize(age, [38, 55]), np.digitize(age, [45]), rng.integers(0, 6, ROWS)]
    return np.column_stack([age, income]), np.column_stack(codes).astype(np.int32)


def related_cities() -> tuple[Matrix, Codes]:
    rng = np.random.default_rng(3)
    home = rng.integers(0, 5, ROWS)
    cities = [np.where(rng.random(ROWS) < 0.9, home, rng.integers(0, 5, ROWS)) for _ in range(4)]
    distance = 2.0 * home + rng.normal(0, 3, ROWS)
    rent = distance + rng.normal(0, 2, ROWS)
    return np.column_stack([distance, rent]), np.column_stack(cities).astype(np.int32)


def sick_and_well() -> tuple[Matrix, Codes]:
    """Three measures of two groups with other means and correlations."""
    rng = np.random.default_rng(4)
    group = (rng.random(ROWS) < 0.35).astype(int)
    base = rng.normal(size=(ROWS, 3))
    base[:, 1] += np.where(group, 0.8, 0.2) * base[:, 0]
    base[:, 2] += 0.5 * base[:, 1]
    severity = np.digitize(base[:, 0] + group + rng.normal(size=ROWS), [-0.5, 1.0])
    return base + 0.9 * group[:, None], np.column_stack([group, severity]).astype(np.int32)


def told_together() -> tuple[Matrix, Codes]:
    """A normal number, and two categories: each a fair coin whatever it is, together its sign. Another pair tells of size."""
    rng = np.random.default_rng(5)
    score, size = rng.normal(size=ROWS), rng.normal(size=ROWS)
    coin, die = rng.integers(0, 2, ROWS), rng.integers(0, 4, ROWS)
    answer = coin ^ (score > 0)
    place = (die + np.digitize(size, [-0.7, 0.0, 0.7])) % 4
    codes = [coin, answer, die, place, rng.integers(0, 6, ROWS)]
    return np.column_stack([score, size]), np.column_stack(codes).astype(np.int32)


TABLES = {
    "told together": told_together,
    "ages and bands": ages_and_bands,
    "related cities": related_cities,
    "sick and well": sick_and_well,
}


@pytest.mark.parametrize("v", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("name", TABLES)
def test_trees_that_know_the_kept_rows_are_left_with_the_promise(name: str, v: float) -> None:
    attacked = Attacked(*TABLES[name](), v)
    promised = v / (1 + v)
    for place in range(attacked.numbers.shape[1]):
        assert attacked.left_of_number(place) > promised - 0.01, place
    for column, value in attacked.most_exposed(v):
        assert attacked.left_of_category(column, value) > promised - 0.01, (column, value)


@pytest.mark.shared_data
@pytest.mark.skipif(not (DATA / "adult.csv").exists(), reason="adult.csv is not there")
@pytest.mark.parametrize("v", [0.25, 1.0, 4.0])
def test_trees_on_adult_are_left_with_the_promise_but_for_what_was_flagged(v: float) -> None:
    attacked = Attacked(*adult(), v)
    promised = v / (1 + v)
    assert attacked.calibration.travelling == (2,)
    for place in range(attacked.numbers.shape[1]):
        if attacked.left_of_number(place) <= promised - 0.01:
            assert place in (3, 4), "only capital gain and loss are that skewed"
            assert attacked.flagged(place, promised)
    for column, value in attacked.most_exposed(v):
        assert attacked.left_of_category(column, value) > promised - 0.01, (column, value)


@pytest.mark.shared_data
@pytest.mark.skipif(not (DATA / "adult.csv").exists(), reason="adult.csv is not there")
def test_on_adult_the_noise_that_lines_need_leaves_trees_too_little() -> None:
    """The control: the closed forms of single columns, computed without rounding, break the promise of the ages."""
    numbers, codes = adult()
    found = calibrated(numbers, codes, [int(column.max()) + 1 for column in codes.T])
    lines = float(own_variances(replace(found, learnt=Learnt.nothing()), 1.0).max())
    assert lines == pytest.approx(1.363, abs=0.01), "nothing was divided by rounding"
    assert Attacked(numbers, codes, 1.0, applied=lines).left_of_number(0) < 0.49
    assert lines < applied_variance(found, 1.0) < 1.1 * lines


def test_noise_of_the_level_itself_beside_categories_leaves_less() -> None:
    """The control: without a(v) the same trees find the ages, and the promise is broken."""
    numbers, codes = ages_and_bands()
    bare = Attacked(numbers, codes, 1.0, applied=1.0)
    assert bare.left_of_number(0) < 0.4
    assert Attacked(numbers, codes, 1.0).a > 1.5
