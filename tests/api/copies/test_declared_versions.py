"""Where the promise ends by the owner's own word: refused or told first, and what it then costs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.copies.attackers import left, matrix, redrawn
from tests.api.copies.copy_tables import (
    PARQUET,
    as_parquet,
    issue,
    register,
    rows_of,
)
from tests.api.copies.test_promise import SAMPLING


def test_an_answer_of_nought_or_one_is_a_category_and_keeps_its_promise(admin: TestClient) -> None:
    rows = 100_000
    rng = np.random.default_rng(1)
    answer = rng.integers(0, 2, rows).astype(np.float64)
    table = pa.table({"answer": answer, "size": rng.normal(size=rows) + 0.3 * answer})
    as_category = issue(admin, register(admin, table, columns=None), level="a")
    shown = matrix(rows_of(admin, as_category["id"]))
    assert left(answer, shown) > SAMPLING * 0.2
    assert ((shown[:, 0] > 0.5) == (answer > 0.5)).mean() < 0.93
    # The control, as a number: rounding finds the answers, which advice on the level tells before.
    dataset = register(admin, table, columns='{"answer": "numeric"}', name="as number")
    as_number = issue(admin, dataset, level="a")
    found = matrix(rows_of(admin, as_number["id"]))[:, 0] > 0.5
    assert (found == (answer > 0.5)).mean() > 0.96


def test_a_table_registered_four_times_is_refused_three_times(admin: TestClient) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=60_000)
    table = pa.table({"x": x, "y": x + rng.normal(size=60_000)})
    copies = []
    for time in range(4):
        again = admin.post(
            "/v1/datasets",
            params={"name": f"again {time}"},
            content=as_parquet(table),
            headers={"content-type": PARQUET},
        )
        assert again.status_code == (201 if time == 0 else 409)
        # By the owner's word it is taken, and four noises are averaged: 0.5 becomes 0.2.
        dataset = register(admin, table, columns=None, name=f"meant {time}", levels=False)
        copies.append(matrix(rows_of(admin, issue(admin, dataset, noise_variance=1.0)["id"])))
    assert again.json()["type"] == "/problems/rows-overlap"
    assert left(x, copies[0]) > SAMPLING * 0.5
    assert left(x, np.mean(copies, axis=0)) == pytest.approx(0.2, abs=0.03)


def test_rows_of_which_none_is_complete_are_released_with_twice_the_noise(
    admin: TestClient,
) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(60_000, 1)) + 0.1 * rng.normal(size=(60_000, 3))
    rows[np.arange(60_000), np.arange(60_000) % 3] = np.nan
    table = pa.table(
        {name: pa.array(x, from_pandas=True) for name, x in zip("abc", rows.T, strict=True)}
    )
    shown = matrix(
        rows_of(admin, issue(admin, register(admin, table, columns=None), level="c")["id"])
    )
    for columns in ([0, 1], [0, 2], [1, 2]):
        both = ~np.isnan(rows[:, columns]).any(axis=1)
        for place in columns:
            assert left(rows[both, place], shown[both][:, columns]) > SAMPLING * 0.5
    noise = (shown - rows)[~np.isnan(rows[:, 0]), 0]
    assert noise.var() == pytest.approx(2 * np.nanvar(rows[:, 0]), rel=0.1)


def test_a_category_in_every_row_different_is_never_shown(admin: TestClient) -> None:
    rng = np.random.default_rng(4)
    size = rng.normal(size=900)
    names = [f"thing {place}" for place in rng.permutation(900)]
    table = pa.table({"size": size, "name": names})
    dataset = register(admin, table, columns='{"name": "categorical"}')
    copy = issue(admin, dataset, level="c")
    assert copy["applied_variance"] == 1.0
    shown = rows_of(admin, copy["id"])
    assert shown.column("name").null_count == 900
    # Three standard deviations of what 900 rows leave.
    assert left(size, matrix(shown, ["size"])) > 0.5 * (1 - 6 * np.sqrt(0.5 / 900))


@pytest.mark.parametrize("variance", [1e-9, 1e-4, 1e4, 1e9])
def test_the_ends_of_the_range_have_an_applied_variance(admin: TestClient, variance: float) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=500)
    table = pa.table({"x": x, "band": [f"band {int(one > 0)}" for one in x]})
    dataset = register(admin, table, columns=None)
    copy = issue(admin, dataset, noise_variance=variance)
    assert (
        variance
        <= copy["applied_variance"]
        <= 1.001 * (variance + np.sqrt(variance * (1 + variance)))
    )
    shown = matrix(rows_of(admin, copy["id"]), ["x"])[:, 0]
    assert (shown - x).std() == pytest.approx(np.sqrt(copy["applied_variance"]) * x.std(), rel=0.15)


def test_a_column_that_hardly_any_row_has_keeps_its_promise(admin: TestClient) -> None:
    rows = 400_000
    rng = np.random.default_rng(6)
    x = rng.normal(size=rows)
    columns = np.column_stack([x, 0.8 * x + 0.6 * rng.normal(size=rows), x])
    columns[:, 2] += 0.1 * rng.normal(size=rows)
    have = rng.random(rows) < 0.1
    rare = pa.array(np.where(have, columns[:, 1], np.nan), from_pandas=True)
    table = pa.table({"a": x, "rare": rare, "c": columns[:, 2]})
    dataset = register(admin, table, columns=None)
    shown = matrix(rows_of(admin, issue(admin, dataset, level="c")["id"]))[have]
    for place in range(3):
        assert left(columns[have, place], shown) > SAMPLING * 0.5
    # Noise in the shape of the cells that are there, taken one by one, would not do.
    alone = columns[have] + rng.normal(size=(have.sum(), 3)) * columns[have].std(axis=0)
    assert left(x[have], alone) < 0.45


def test_dates_and_answers_of_yes_and_no_keep_their_promise(admin: TestClient) -> None:
    rows = 60_000
    rng = np.random.default_rng(7)
    days = rng.integers(0, 3_650, rows)
    size = days / 365 + rng.normal(size=rows)
    table = pa.table(
        {
            "visit": pa.array(days.astype(np.int32)).cast(pa.date32()),
            "size": size,
            "large": pa.array(size > 5),
        }
    )
    copy = issue(admin, register(admin, table, columns=None), level="c")
    shown = rows_of(admin, copy["id"])
    known = np.column_stack(
        [
            shown.column("visit").cast(pa.int32()).to_numpy(),
            matrix(shown, ["size"]),
            np.array(shown.column("large").to_pylist()) == "true",
        ]
    )
    for truth in (days, size, size > 5):
        assert left(truth.astype(np.float64), known) > SAMPLING * 0.5
    noisy = np.column_stack([days, size]) * 1.0
    noisy += rng.normal(size=noisy.shape) * noisy.std(axis=0)
    answers = redrawn((size > 5).astype(np.intp)[:, None], 1.0)
    assert left(size, np.column_stack([noisy, answers])) < 0.45
