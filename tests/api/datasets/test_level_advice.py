"""Advice on a level before anything is issued: what is weakly protected, and what noise costs and saves."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from app.service.copies import advice
from tests.api.conftest import Service
from tests.api.copies.copy_tables import issue, mixed_table, register

ROWS = 2_000


def advised(client: TestClient, dataset: str, **form: float) -> dict[str, Any]:
    answer = client.put(f"/v1/datasets/{dataset}/levels/new", json=form)
    assert answer.status_code == 200, answer.text
    assert client.get(f"/v1/datasets/{dataset}").json()["frozen"] is False
    return dict(answer.json()["advice"])


def weak(client: TestClient, table: pa.Table) -> dict[str, dict[str, Any]]:
    dataset = register(client, table, columns=None)
    found = advised(client, dataset, privacy=0.5)["weakly_protected"]
    return {one["target"]: one for one in found}


def numbers(values: np.ndarray) -> dict[str, Any]:
    return {f"n{j}": column for j, column in enumerate(values.T)}


def test_of_many_weak_columns_the_worst_ten_are_named(admin: TestClient) -> None:
    rng = np.random.default_rng(1)
    profiles = rng.normal(size=(200, 14))[rng.integers(200, size=ROWS)]
    profiles += 0.1 * rng.normal(size=profiles.shape)
    assert len(weak(admin, pa.table(numbers(profiles)))) == 10


def test_a_difference_of_two_columns_that_is_seldom_anything_is_named(admin: TestClient) -> None:
    rng = np.random.default_rng(1)
    pay = rng.normal(5_000, 1_000, ROWS)
    bonus = np.where(rng.random(ROWS) < 0.08, rng.normal(1_500, 300, ROWS), 0)
    found = weak(admin, pa.table({"pay": pay, "total": pay + bonus}))
    assert next(iter(found)) == "difference of pay and total"
    assert found["difference of pay and total"]["left"] < 0.3


def test_a_rare_category_that_many_numbers_tell_of_is_named(admin: TestClient) -> None:
    rng = np.random.default_rng(1)
    ill = rng.random(ROWS) < 0.02
    blood = rng.normal(size=(ROWS, 12)) + 2.6 * ill[:, None] * np.sign(rng.normal(size=12))
    found = weak(admin, pa.table(numbers(blood) | {"disease": np.where(ill, "rare", "none")}))
    assert found["disease = rare"]["columns"] == ["disease"]


def test_a_skewed_column_is_named_and_normal_ones_are_not(admin: TestClient) -> None:
    rng = np.random.default_rng(1)
    normal = rng.normal(size=(ROWS, 6)) @ rng.normal(size=(6, 6))
    sales = np.exp(1.5 * rng.normal(size=ROWS))
    found = weak(admin, pa.table(numbers(normal) | {"sales": sales}))
    assert found.keys() == {"sales"}
    assert found["sales"]["left"] < 0.4
    assert "sales" in found["sales"]["remedy"]


def test_a_number_that_passthrough_columns_tell_of_is_named(admin: TestClient) -> None:
    rng = np.random.default_rng(3)
    net, size = rng.normal(2_000, 300, ROWS), rng.normal(size=ROWS)
    team = rng.integers(0, 8, ROWS)
    table = pa.table(
        {
            "gross": 1.6 * net + rng.normal(0, 20, ROWS),
            "net": net,
            "size": size,
            "wage": team + rng.normal(0, 0.1, ROWS),
            "team": [f"team {one}" for one in team],
        }
    )
    for passthrough, named in ((("net", "team"), {"gross", "wage"}), (("size",), set())):
        columns = json.dumps(dict.fromkeys(passthrough, "passthrough"))
        dataset = register(admin, table, name=passthrough[0], columns=columns, levels=False)
        found = advised(admin, dataset, privacy=0.5)["weakly_protected"]
        assert {one["target"] for one in found if one["attacker"] == "passthrough columns"} == named
        assert all(one["left"] < 0.05 for one in found if one["target"] in named)


def test_an_answer_of_nought_or_one_kept_as_a_number_is_named(admin: TestClient) -> None:
    rng = np.random.default_rng(2)
    table = pa.table({"answer": rng.integers(0, 2, ROWS) * 1.0, "size": rng.normal(size=ROWS)})
    dataset = register(admin, table, columns='{"answer": "numeric"}')
    (found,) = advised(admin, dataset, privacy=0.2)["weakly_protected"]
    assert found["target"] == "answer"
    assert found["left"] < 0.1


def test_a_number_of_two_values_is_a_category_unless_the_owner_says_otherwise(
    admin: TestClient,
) -> None:
    table = pa.table({"answer": [0.0, 1.0] * 50, "size": np.arange(100) * 0.5})
    dataset = register(admin, table, columns=None)
    shown = admin.get(f"/v1/datasets/{dataset}").json()["columns"]
    assert [column["kind"] for column in shown] == ["categorical", "numeric"]
    assert "rounded away" in shown[0]["reason"]


def test_of_a_determined_pair_it_says_what_leaving_out_one_saves(admin: TestClient) -> None:
    rng = np.random.default_rng(3)
    age = rng.normal(40, 10, ROWS)
    table = pa.table(
        {
            "age": age,
            "size": rng.normal(size=ROWS),
            "band": [f"band {int(one // 10)}" for one in age],
        }
    )
    found = advised(admin, register(admin, table, columns=None), noise_variance=1.0)
    assert found["applied_variance"] > 2
    drivers = {one["column"]: one["applied_variance_without"] for one in found["driven_by"]}
    assert drivers.keys() == {"age", "band"}
    assert max(drivers.values()) < 1.1
    assert not advised(
        admin,
        register(admin, table.select(["age", "size"]), columns=None, name="apart"),
        noise_variance=1.0,
    )["driven_by"]


def test_it_says_the_noise_in_the_unit_of_each_column_and_what_is_left_of_it_to_an_insider(
    admin: TestClient,
) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(0, 10, ROWS)
    table = pa.table({"x": x, "y": x + rng.normal(0, 1, ROWS), "apart": rng.normal(0, 5, ROWS)})
    found = advised(admin, register(admin, table, columns=None), noise_variance=4.0)
    noise = {one["column"]: one for one in found["noise"]}
    assert noise["x"]["standard_deviation"] == pytest.approx(20, rel=0.05)
    assert noise["x"]["known_others"] == pytest.approx(2.1, rel=0.1)
    assert noise["apart"]["known_others"] == pytest.approx(10, rel=0.05)


def test_the_copy_is_drawn_at_the_variance_that_was_told(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(500))
    told = advised(admin, dataset, noise_variance=2.5)["applied_variance"]
    assert issue(admin, dataset, level="new")["applied_variance"] == pytest.approx(told)


def defect(*_: object) -> None:
    """Every look at the rows for advice fails, as a defect of ours would."""
    raise ZeroDivisionError("a value of the table")


def test_a_level_is_not_defined_where_its_answer_fails(
    service_on_each_database: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = service_on_each_database.client()
    dataset = register(client, mixed_table(60))
    url = f"/v1/datasets/{dataset}/levels"
    before = client.get(url).json()
    monkeypatch.setattr(advice, "sampled_rows", defect)
    for name in ("new", before["levels"][0]["name"]):
        assert client.put(f"{url}/{name}", json={"noise_variance": 7.0}).status_code == 500
    assert client.get(url).json() == before
    done = client.get("/v1/audit-log", params={"limit": 200}).json()["entries"]
    assert not [one for one in done if one["facts"].get("noise_variance") == 7.0]


def test_a_level_that_may_not_change_is_refused_before_anything_is_computed(
    admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = register(admin, mixed_table(60))
    admin.post(f"/v1/datasets/{dataset}/copies", json={"level": "a"}).raise_for_status()
    monkeypatch.setattr(advice, "sampled_rows", defect)
    answer = admin.put(f"/v1/datasets/{dataset}/levels/a", json={"noise_variance": 7.0})
    assert answer.json()["type"] == "/problems/level-issued"
