"""Estimates from a column of a copy: what the copy tells, for who may have it, and nothing more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service
from tests.api.copies.copy_tables import issue, register, rows_of


def two_modes(rows: int = 20_000) -> pa.Table:
    rng = np.random.default_rng(6)
    pay = np.where(rng.random(rows) < 0.5, rng.normal(20, 2, rows), rng.normal(40, 3, rows))
    holes = np.where(rng.random(rows) < 0.05, np.nan, pay)
    return pa.table(
        {
            "pay": pa.array(holes, from_pandas=True),
            "age": pa.array(rng.integers(20, 60, rows).astype(float)),
            "city": pa.array(rng.choice(["Rome", "Oslo"], rows)),
        }
    )


TABLE = two_modes()


def estimate(client: TestClient, copy: str, **changes: Any) -> Any:
    form = {"copy_id": copy, "column": "pay", "support": {"low": 5, "high": 60}, "bins": 55}
    return client.post("/v1/distributions/estimate", json=form | changes)


@pytest.fixture(name="copy")
def issued_copy(admin: TestClient) -> str:
    dataset = register(admin, TABLE, columns=None)
    copy: str = issue(admin, dataset, level="a")["id"]
    return copy


def test_the_distribution_behind_a_copy_is_closer_than_the_copys_own(
    admin: TestClient, copy: str
) -> None:
    found = estimate(admin, copy).json()
    pay = TABLE.column("pay").drop_null().to_numpy()
    edges = np.asarray(found["edges"])
    truth = np.histogram(pay, edges)[0] / pay.size
    released = rows_of(admin, copy).column("pay").drop_null().to_numpy()
    disguised = np.histogram(released, edges)[0] / released.size
    error = np.abs(np.asarray(found["probabilities"]) - truth).sum()
    assert found["records"] == pay.size
    assert error < np.abs(disguised - truth).sum() / 2


def noise_of(client: TestClient, copy: str, column: str) -> dict[str, Any]:
    """The noise of a column by the public noise law, as `/v1/distributions/estimate` takes it."""
    law = client.get(f"/v1/copies/{copy}/noise").json()
    place = law["columns"].index(column)
    (part,) = law["parts"]
    return {"kind": "normal", "variance": part["covariance"][place][place]}


def test_the_estimate_is_a_function_of_the_copy_and_its_noise_law(service: Service) -> None:
    """Also where categories need more noise than the level says, and for a recipient."""
    owner = service.client()
    rng = np.random.default_rng(3)
    pay = rng.uniform(20, 80, 3_000)
    band = np.where(pay < 40, "low", np.where(pay < 60, "middle", "high"))
    dataset = register(owner, pa.table({"pay": pay, "band": band}), columns=None)
    copy = issue(owner, dataset, level="c")
    assert copy["applied_variance"] > 1.2
    recipient_id, recipient = service.principal("recipient")
    owner.put(f"/v1/datasets/{dataset}/grants/{recipient_id}", json={"level": "c"})
    values = rows_of(recipient, copy["id"]).column("pay").to_numpy()
    noise = noise_of(recipient, copy["id"], "pay")
    # The law is told to the precision of the rows: of a variance √(2/n), and the same again for R².
    precision = 2 * np.sqrt(2 / len(pay))
    expected = copy["applied_variance"] * pay.var()
    assert noise["variance"] == pytest.approx(expected, rel=precision)
    # Without a support the edges follow from the noise too.
    for choices in ({}, {"support": {"low": 0, "high": 100}}):
        told = estimate(recipient, copy["id"], **({"support": None} | choices))
        form = {"values": values.tolist(), "noise": noise, "bins": 55} | choices
        by_hand = recipient.post("/v1/distributions/estimate", json=form)
        assert (told.status_code, by_hand.status_code) == (200, 200), by_hand.text
        for said in ("edges", "probabilities"):
            np.testing.assert_allclose(told.json()[said], by_hand.json()[said], atol=1e-9)


def test_an_estimate_of_a_copy_is_recorded(admin: TestClient, copy: str) -> None:
    estimate(admin, copy)
    entries = admin.get("/v1/audit-log", params={"limit": 1000}).json()["entries"]
    assert (entries[-1]["action"], entries[-1]["subject"]) == ("copy.estimate", copy)


def test_who_may_not_have_the_copy_gets_no_estimate(service: Service) -> None:
    client = service.client()
    dataset = register(client, TABLE.slice(0, 500), columns=None)
    copies = {level: issue(client, dataset, level=level)["id"] for level in "ac"}
    recipient_id, recipient = service.principal("recipient")
    _, auditor = service.principal("auditor")
    assert estimate(recipient, copies["c"]).status_code == 404
    grant = {"level": "c", "columns": ["pay"]}
    client.put(f"/v1/datasets/{dataset}/grants/{recipient_id}", json=grant)
    assert estimate(recipient, copies["c"]).status_code == 200
    assert estimate(recipient, copies["a"]).status_code == 404
    assert estimate(recipient, copies["c"], column="age").status_code == 422
    assert estimate(auditor, copies["c"]).status_code == 403


def test_what_no_copy_has_is_refused(admin: TestClient, copy: str) -> None:
    refused: list[dict[str, Any]] = [
        {"column": None},
        {"column": "nothing"},
        {"column": "city"},
        {"column": "pay,age"},
        {"noise": {"kind": "normal", "variance": 1.0}},
        {"values": [1.0, 2.0]},
        {"support": {"low": 1e6, "high": 2e6}},
    ]
    for changes in refused:
        assert estimate(admin, copy, **changes).status_code == 422, changes


def test_a_copy_that_does_not_exist_is_not_found(admin: TestClient) -> None:
    assert estimate(admin, "cp_nothing").status_code == 404
