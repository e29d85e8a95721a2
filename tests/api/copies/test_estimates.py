"""Estimates behind copies over HTTP: right where the copy is wrong, from its rows or from a table, and plain refusals."""

from __future__ import annotations

import json
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service
from tests.api.copies.copy_tables import append, as_parquet, issue, register, rows_of

ROWS = 6_000
KINDS = {"town": "categorical", "band": "categorical"}


def people(rows: int = ROWS, seed: int = 1) -> pa.Table:
    """Numbers and categories that hang together; some cells are missing."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    band = np.where(rng.random(rows) < np.where(town == "a", 0.7, 0.2), "yes", "no")
    age = rng.normal(45, 12, rows)
    income = 20 + 0.5 * age + 15 * (band == "yes") + rng.normal(0, 6, rows)
    spent = np.where(rng.random(rows) < 0.1, np.nan, income / 2 + rng.normal(0, 5, rows))
    gaps = pa.array(spent, from_pandas=True)
    return pa.table({"age": age, "income": income, "spent": gaps, "town": town, "band": band})


@pytest.fixture
def copy(admin: TestClient) -> str:
    dataset = register(admin, people(), columns=json.dumps(KINDS), levels=False)
    return str(issue(admin, dataset, noise_variance=0.5)["id"])


def estimate(client: Any, copy: str, **question: Any) -> dict[tuple[str, ...], dict[str, Any]]:
    answer = client.post(f"/v1/copies/{copy}/estimates", json=question)
    assert answer.status_code == 200, answer.text
    return {tuple(one["term"]): one for one in answer.json()["terms"]}


def off(one: dict[str, Any], truth: float) -> float:
    """How far an estimate is from the truth, in standard errors."""
    return abs(float(one["estimate"]) - truth) / float(one["standard_error"])


def test_every_kind_finds_what_is_behind_the_copy(admin: TestClient, copy: str) -> None:
    table = people().to_pandas()
    yes = table.band == "yes"
    found = estimate(
        admin, copy, kind="linear_regression", columns=["age", "band"], target="income"
    )
    shown = next(value for name, value in found.items() if name[0] == "band")
    sign = 1 if ("band", "yes") in found else -1
    assert off(found["age",], 0.5) < 3
    assert off(shown, sign * 15) < 3
    assert abs(shown["naive"] - sign * 15) > 5 * shown["standard_error"]
    found = estimate(admin, copy, kind="group_means", columns=["band"], target="income")
    for band in ("yes", "no"):
        assert off(found[band,], table.income[table.band == band].mean()) < 3
        assert abs(found[band,]["naive"] - found[band,]["estimate"]) > 1
    found = estimate(admin, copy, kind="two_way_table", columns=["town", "band"])
    assert off(found["a", "yes"], ((table.town == "a") & yes).mean()) < 3
    found = estimate(admin, copy, kind="shares", columns=["town"])
    assert off(found["a",], (table.town == "a").mean()) < 3
    found = estimate(admin, copy, kind="means", columns=["age", "spent"])
    assert off(found["spent",], table.spent.mean()) < 3
    found = estimate(admin, copy, kind="covariances", columns=["age", "spent"])
    assert off(found["spent", "spent"], table.spent.var()) < 3
    assert found["spent", "spent"]["naive"] > 1.3 * table.spent.var()
    found = estimate(admin, copy, kind="correlations", columns=["age", "income"])
    assert off(found["age", "income"], table.age.corr(table.income)) < 3
    question = {"kind": "logistic_regression", "columns": ["income"]}
    found = estimate(admin, copy, **question, target="band", value="yes")
    assert 0 < found["income",]["naive"] < found["income",]["low"]
    found = estimate(admin, copy, kind="distribution", columns=["income"])
    mean = sum(
        np.mean([float(end) for end in name]) * one["estimate"] for name, one in found.items()
    )
    assert mean == pytest.approx(table.income.mean(), abs=1)


def test_a_table_of_the_copy_may_bring_numbers_of_its_own(admin: TestClient, copy: str) -> None:
    shown = rows_of(admin, copy)
    mine = shown.append_column("mine", pa.array(2.0 * people()["age"].to_numpy() + 1))
    found = of_table(admin, copy, mine, columns=["mine"], target="income").json()
    terms = {tuple(one["term"]): one for one in found["terms"]}
    assert off(terms["mine",], 0.25) < 3
    assert "mine" in found["notes"][-1]
    whole = estimate(admin, copy, kind="linear_regression", columns=["age"], target="income")
    again = of_table(admin, copy, shown, columns=["age"], target="income").json()["terms"]
    assert again[1]["estimate"] == pytest.approx(whole["age",]["estimate"], rel=1e-9)


def of_table(client: Any, copy: str, table: pa.Table, **question: Any) -> httpx.Response:
    answer = client.post(
        f"/v1/copies/{copy}/estimates/table",
        data={"question": json.dumps({"kind": "linear_regression"} | question)},
        files={"table": ("t.parquet", as_parquet(table), "application/vnd.apache.parquet")},
    )
    assert answer.status_code in (200, 422), answer.text
    found: httpx.Response = answer
    return found


def test_parts_of_different_noise_are_corrected_each_by_its_own(admin: TestClient) -> None:
    first, later = people(3_000, 1), people(3_000, 2)
    wide = later.set_column(0, "age", pa.array(3 * later["age"].to_numpy()))
    dataset = register(admin, first, columns=json.dumps(KINDS), levels=False)
    copy = issue(admin, dataset, noise_variance=0.5)["id"]
    append(admin, dataset, wide)
    together = pa.concat_tables([first, wide]).to_pandas()
    found = estimate(admin, copy, kind="covariances", columns=["age", "income"])
    assert off(found["age", "age"], together.age.var()) < 3
    assert off(found["age", "income"], together.age.cov(together.income)) < 3
    refused = of_table(admin, copy, rows_of(admin, copy).slice(5), columns=["age"], target="income")
    assert refused.status_code == 422


@pytest.mark.parametrize(
    "question",
    [
        {"kind": "means", "columns": ["town"]},
        {"kind": "shares", "columns": ["age"]},
        {"kind": "shares", "columns": ["town", "band"]},
        {"kind": "linear_regression", "columns": ["age"]},
        {"kind": "linear_regression", "columns": ["age"], "target": "band"},
        {"kind": "linear_regression", "columns": ["age"], "target": "age"},
        {"kind": "logistic_regression", "columns": ["age"], "target": "band", "value": "none"},
        {"kind": "logistic_regression", "columns": ["age"], "target": "income", "value": "1"},
        {"kind": "distribution", "columns": ["town"]},
        {"kind": "means", "columns": ["nothing"]},
        {"kind": "means", "columns": ["note"]},
    ],
)
def test_questions_that_no_copy_answers_are_refused(
    admin: TestClient, question: dict[str, Any]
) -> None:
    table = people(400).append_column("note", pa.array([f"n{one}" for one in range(400)]))
    kinds = KINDS | {"note": "passthrough"}
    dataset = register(admin, table, columns=json.dumps(kinds), levels=False)
    copy = issue(admin, dataset, noise_variance=0.5)["id"]
    answer = admin.post(f"/v1/copies/{copy}/estimates", json=question)
    assert answer.status_code == 422, answer.text


def test_few_rows_have_wide_intervals_and_no_failure(admin: TestClient) -> None:
    dataset = register(admin, people(30), columns=json.dumps(KINDS), levels=False)
    copy = issue(admin, dataset, noise_variance=4.0)["id"]
    question = {"kind": "linear_regression", "columns": ["age", "spent", "band", "town"]}
    found = estimate(admin, copy, **question, target="income")
    assert any((one["low"], one["high"]) == (None, None) for one in found.values())


def test_estimates_are_for_whoever_has_the_copy_and_its_noise_law(service: Service) -> None:
    owner = service.client()
    dataset = register(owner, chained(), columns=json.dumps(dict.fromkeys("abc", "categorical")))
    copy = issue(owner, dataset, level="a")["id"]
    recipient_id, recipient = service.principal("recipient")
    url, shares = f"/v1/copies/{copy}/estimates", {"kind": "shares", "columns": ["a"]}
    assert recipient.post(url, json=shares).status_code == 404
    grant = {"level": "a", "columns": ["a", "c"]}
    owner.put(f"/v1/datasets/{dataset}/grants/{recipient_id}", json=grant)
    assert recipient.post(url, json=shares).status_code == 200
    assert recipient.post(url, json=shares | {"columns": ["b"]}).status_code == 422
    # Donors of a and c hang together by b, of which the recipient knows nothing.
    pair = {"kind": "two_way_table", "columns": ["a", "c"]}
    assert recipient.post(url, json=pair).status_code == 422
    law = recipient.get(f"/v1/copies/{copy}/noise").json()
    assert (law["donor_pairs"], law["withheld_pairs"]) == ([], [["a", "c"]])
    found = estimate(owner, copy, **pair)
    table = chained().to_pandas()
    assert off(found["0", "0"], ((table.a == "0") & (table.c == "0")).mean()) < 3
    assert owner.patch(f"/v1/datasets/{dataset}", json={"publish_noise": False}).is_success
    assert recipient.post(url, json=shares).status_code == 404


def chained() -> pa.Table:
    """a tells of b, and b of c."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, ROWS)
    b = np.where(rng.random(ROWS) < 0.1, 1 - a, a)
    c = np.where(rng.random(ROWS) < 0.1, 1 - b, b)
    return pa.table(
        {name: column.astype(str) for name, column in zip("abc", (a, b, c), strict=True)}
    )
