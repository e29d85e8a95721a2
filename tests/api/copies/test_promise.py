"""The promise on tables that leave the paper's assumptions, attacked from outside.

Every attacker has a positive control: the same attack on noise in the shape of the sample covariance,
or on columns redrawn one by one, which is how these tables once leaked, finds what it looks for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.model import Principal, Role
from app.service.context import RequestContext
from app.service.copies.generation.release import Selection, open_release
from app.service.datasets.protection.donor_pool import DonorPool
from tests.api.conftest import Service
from tests.api.copies.attackers import (
    indicators,
    left,
    matrix,
    noise_like_the_data,
    redrawn,
    votes,
    worst_direction,
)
from tests.api.copies.copy_tables import append, issue, register, rows_of
from tests.numerics.copies.released import untouched_records

Matrix = NDArray[np.float64]

SAMPLING = 0.97
"""What a finite sample may take from a promise.

Of n rows the part left of a variance has the relative error 2 √((1−a)/n): tables are so long that
this is five of it or more, since the noise is another one in every run.
"""


def numbers(values: Matrix, names: str | list[str] = "abcdefghijklmnopqrstuvwxyz") -> pa.Table:
    return pa.table(
        {
            name: pa.array(column, from_pandas=True)
            for name, column in zip(names, values.T, strict=False)
        }
    )


def variance_of(privacy: float) -> float:
    return privacy / (1 - privacy)


def copy_at(client: TestClient, dataset: str, privacy: float) -> pa.Table:
    return rows_of(client, issue(client, dataset, noise_variance=variance_of(privacy))["id"])


def kept_rows(service: Service, copy: dict[str, Any], rows: int) -> NDArray[np.bool_]:
    """Which records of a data set of one part a copy keeps: what no attacker knows, and may be told."""
    context = RequestContext(Principal("rc_admin", "admin", Role.ADMIN), "request")
    release = open_release(service.app.state.resources, context, copy["id"], Selection())
    part = release.recipe.parts[0]
    assert isinstance(part.pool, DonorPool)
    columns, donors = len(part.pool.donors.values), part.pool.size
    return untouched_records(part.record_key, rows, columns, donors, copy["applied_variance"])


def test_missing_cells_leave_no_direction_without_noise(admin: TestClient) -> None:
    privacy, v = 0.99, variance_of(0.99)
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(5_000, 3)) @ rng.normal(size=(3, 10))
    rows += 0.01 * rng.normal(size=rows.shape)
    gappy = np.where(rng.random(rows.shape) < 0.05, np.nan, rows)
    released = matrix(copy_at(admin, register(admin, numbers(gappy), columns=None), privacy))
    complete = ~np.isnan(gappy).any(axis=1)
    X, Y = gappy[complete], released[complete]
    assert worst_direction(X, Y) > SAMPLING * privacy
    assert left(X[:, 9], Y, baseline=X[:, :9]) > SAMPLING * privacy
    for column in range(10):
        assert left(X[:, column], Y) > SAMPLING * privacy
    old = X + noise_like_the_data(gappy, len(X), v)
    assert worst_direction(X, old) < 0.01
    assert left(X[:, 9], old, baseline=X[:, :9]) < 0.5


def test_few_rows_at_first_do_not_bare_the_many_that_follow(admin: TestClient) -> None:
    privacy, v = 0.999, variance_of(0.999)
    rng = np.random.default_rng(2)
    mixing = rng.normal(size=(8, 8))
    first, later = (rng.normal(size=(n, 8)) @ mixing for n in (5, 20_000))
    dataset = register(admin, numbers(first), columns=None)
    copy_at(admin, dataset, privacy)
    append(admin, dataset, numbers(later))
    released = matrix(copy_at(admin, dataset, privacy))[5:]
    assert worst_direction(later, released) > SAMPLING * privacy
    old = later + noise_like_the_data(first, 20_000, v)
    assert worst_direction(later, old) < 0.01


def test_a_pilot_does_not_set_the_scale_of_the_real_rows(admin: TestClient) -> None:
    privacy, v = 0.5, variance_of(0.5)
    rng = np.random.default_rng(3)
    pilot = np.column_stack([rng.normal(40, 1, 20), rng.normal(1_000, 1, 20)])
    real = np.column_stack([rng.normal(40, 12, 100_000), rng.lognormal(10, 0.5, 100_000)])
    dataset = register(admin, numbers(pilot, ["age", "income"]), columns=None)
    copy_at(admin, dataset, privacy)
    append(admin, dataset, numbers(real, ["age", "income"]))
    released = matrix(copy_at(admin, dataset, privacy))[20:]
    for column in range(2):
        assert left(real[:, column], released) > SAMPLING * privacy
    old = real + noise_like_the_data(pilot, 100_000, v)
    assert left(real[:, 1], old) < 1e-4


def test_corrections_to_a_total_stay_hidden(admin: TestClient) -> None:
    """At first total = gross + bonus; later rows carry corrections that the sum would show."""
    privacy, v = 0.9, variance_of(0.9)
    rng = np.random.default_rng(4)
    names = ["gross", "bonus", "total"]

    def pay(rows: int, correction: float) -> Matrix:
        gross, bonus = rng.normal(3_000, 500, rows), rng.normal(300, 100, rows)
        return np.column_stack([gross, bonus, gross + bonus + correction * rng.normal(size=rows)])

    first, later = pay(1_000, 0.0), pay(20_000, 10.0)
    dataset = register(admin, numbers(first, names), columns=None)
    copy_at(admin, dataset, privacy)
    append(admin, dataset, numbers(later, names))
    released = matrix(copy_at(admin, dataset, privacy))[1_000:]
    w = np.array([-1.0, -1.0, 1.0])
    assert left(later @ w, (released @ w)[:, None]) > SAMPLING * privacy
    assert left(later @ w, released) > SAMPLING * privacy
    assert worst_direction(later, released) > SAMPLING * privacy
    old = later + noise_like_the_data(first, 20_000, v)
    assert left(later @ w, (old @ w)[:, None]) < 1e-3


def test_ten_rows_of_ten_columns_do_not_give_the_tenth_from_nine(admin: TestClient) -> None:
    """Rows as many as columns depend on each other exactly; a copy must not show how."""
    privacy, v = 0.999999, variance_of(0.999999)
    errors = []
    for seed in range(6):
        rows = np.random.default_rng(seed).normal(size=(10, 10))
        dataset = register(admin, numbers(rows), name=f"table {seed}", columns=None)
        errors.append(solved_tenth(rows, matrix(copy_at(admin, dataset, privacy))))
        old = rows + noise_like_the_data(rows, 10, v)
        assert solved_tenth(rows, old) < 0.01
    assert np.mean(np.square(errors)) > SAMPLING * privacy


def solved_tenth(rows: Matrix, released: Matrix) -> float:
    """The error at the tenth attribute, in standard deviations, of who knows nine and the copy.

    The direction in which the copy does not vary is taken for one in which the rows do not.
    """
    _, _, directions = np.linalg.svd(released - released.mean(axis=0))
    w = directions[-1]
    known = (rows - rows.mean(axis=0))[:, :9]
    guess = rows[:, 9].mean() - known @ w[:9] / w[9]
    return float((guess - rows[:, 9]).std() / rows[:, 9].std())


def test_two_hundred_nearly_equal_columns_keep_their_promise(admin: TestClient) -> None:
    privacy, v = 0.2, variance_of(0.2)
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(6_000, 1)) + 1e-5 * rng.normal(size=(6_000, 200))
    names = [f"c{place}" for place in range(200)]
    dataset = register(admin, numbers(rows, names), columns=None)
    released = matrix(copy_at(admin, dataset, privacy))
    assert left(rows[:, 0], released.mean(axis=1)[:, None]) > SAMPLING * privacy
    assert left(rows[:, 0], released) > SAMPLING * privacy
    assert worst_direction(rows, released) > SAMPLING * privacy
    # Noise of one column's own, where the others are nearly the same, is averaged away.
    alone = rows + np.sqrt(v) * rng.normal(size=rows.shape)
    assert left(rows[:, 0], alone.mean(axis=1)[:, None]) < 0.01


@pytest.mark.parametrize("bands", [[30, 45, 60], [45]], ids=["fine", "coarse"])
def test_bands_and_generations_do_not_give_the_age_away(
    service: Service, admin: TestClient, bands: list[int]
) -> None:
    rows = 60_000
    rng = np.random.default_rng(7)
    age = rng.normal(45, 15, rows).clip(18, 95)
    income = 1_000 + 30 * age + rng.gamma(2.0, 300.0, rows)
    band = np.digitize(age, bands)
    generation = np.digitize(age, [*bands, 78])
    codes = np.column_stack([band, generation])
    table = pa.table(
        {
            "age": age,
            "income": income,
            "band": [f"band {one}" for one in band],
            "generation": [f"generation {one}" for one in generation],
        }
    )
    dataset = register(admin, table, columns=None)
    for privacy in (0.5, 0.9):
        v = variance_of(privacy)
        copy = issue(admin, dataset, noise_variance=v)
        released = rows_of(admin, copy["id"])
        shown = np.column_stack(
            [
                [int(text.split()[1]) for text in released.column(name).to_pylist()]
                for name in ("band", "generation")
            ]
        )
        # Told which rows were kept, and given every column.
        kept = kept_rows(service, copy, rows)
        known = np.column_stack([matrix(released, ["age", "income"]), indicators(shown)])
        known = np.column_stack([known, known * kept[:, None], kept])
        assert left(age, known) > SAMPLING * privacy
        assert left((band == 1).astype(float), known) > SAMPLING * privacy
        old = np.column_stack([age, income])
        old = old + noise_like_the_data(old, rows, v)
        assert left(age, np.column_stack([old, indicators(redrawn(codes, v))])) < 0.9 * privacy


def test_four_city_columns_do_not_vote(admin: TestClient) -> None:
    privacy, v, rows = 0.5, 1.0, 60_000
    rng = np.random.default_rng(8)
    home = rng.integers(0, 6, rows)
    cities = np.column_stack(
        [np.where(rng.random(rows) < 0.97, home, rng.integers(0, 6, rows)) for _ in range(4)]
    )
    names = ["birth", "home", "work", "school"]
    table = pa.table(
        {
            name: [f"city {one}" for one in column]
            for name, column in zip(names, cities.T, strict=True)
        }
    )
    released = copy_at(admin, register(admin, table, columns=None), privacy)
    shown = np.column_stack(
        [[int(text.split()[1]) for text in released.column(name).to_pylist()] for name in names]
    )
    right = (votes(shown) == home).mean()
    by_chance = 1 / 6
    assert right < by_chance + (1 - by_chance) * (1 - SAMPLING * privacy)
    for city in range(6):
        assert left((home == city).astype(float), indicators(shown)) > SAMPLING * privacy
    assert (votes(redrawn(cities, v)) == home).mean() > 0.85
    # Joint distributions survive in part: cells are also replaced one by one, so that they tell less of each other.
    agree, told = (shown[:, 0] == shown[:, 1]).mean(), (cities[:, 0] == cities[:, 1]).mean()
    assert 0.7 * told < agree < told


def test_a_table_of_categories_alone_is_released(admin: TestClient) -> None:
    rng = np.random.default_rng(9)
    table = pa.table(
        {"city": rng.choice(["Rome", "Oslo"], 500), "vote": rng.choice(["a", "b"], 500)}
    )
    dataset = register(admin, table, columns=None)
    copy = issue(admin, dataset, level="c")
    assert copy["applied_variance"] == 1.0
    assert {column["perturbation"] for column in copy["columns"]} == {"record"}
    shown = rows_of(admin, copy["id"])
    same = np.array(shown.column("city").to_pylist()) == table.column("city").to_pylist()
    assert 0.65 < same.mean() < 0.85
