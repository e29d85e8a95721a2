"""Audits over HTTP: what copies reveal jointly, alone and under independent noise, and to whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service
from tests.api.copies.copy_tables import issue, mixed_table, register

ROWS = 1500


def audit(client: TestClient, dataset: str, **form: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/datasets/{dataset}/audits", json=form)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture
def dataset(admin: TestClient) -> str:
    return register(admin, mixed_table(ROWS))


def test_issued_copies_reveal_together_what_the_best_reveals_alone(
    service: Service,
) -> None:
    client = service.client()
    dataset = register(client, mixed_table(ROWS))
    for variance in (1.0, 0.25, 0.5):
        issue(client, dataset, noise_variance=variance)
    found = audit(client, dataset, issued=True, seed=1, attacks=["be-dr"])
    assert found["measured_on"] == "issued copies"
    assert [copy["noise_variance"] for copy in found["copies"]] == [1.0, 0.25, 0.5]
    assert all(copy["copy_id"] for copy in found["copies"])
    for copy in found["copies"]:
        assert copy["normalised_error"] == pytest.approx(copy["privacy"], abs=0.05)
    # The grid of released numbers is all that is between the joint error and the best one's.
    assert found["pooling_gain"] == pytest.approx(0, abs=1e-4)
    last = found["by_copies"][-1]
    assert last["expected_joint"] == pytest.approx(0.2, rel=0.01)  # applied variances
    assert last["expected_independent"] == pytest.approx(1 / (1 + 1 + 4 + 2), rel=0.01)
    assert last["independent"] == pytest.approx(last["expected_independent"], abs=0.03)
    assert last["independent"] < last["joint"] - 0.03
    assert client.get(f"/v1/datasets/{dataset}/audits/{found['id']}").json() == found
    assert client.get(f"/v1/datasets/{dataset}/audits").json() == {
        "audits": [found],
        "next_cursor": None,
    }


def test_hypothetical_levels_need_no_copy(admin: TestClient, dataset: str) -> None:
    variances = [0.1, 0.4, 2.0]
    found = audit(admin, dataset, noise_variances=variances, seed=2, attacks=["be-dr", "ndr"])
    assert found["measured_on"] == "simulated copies"
    assert [copy["copy_id"] for copy in found["copies"]] == [None] * 3
    assert found["pooling_gain"] == pytest.approx(0, abs=1e-9)
    assert [one["attack"] for one in found["joint"]] == ["be-dr", "ndr"]
    assert found["joint"][0]["score"]["normalised_error"]["overall"] == pytest.approx(
        found["by_copies"][-1]["joint"]
    )
    assert not admin.get(f"/v1/datasets/{dataset}").json()["frozen"]
    again = audit(admin, dataset, noise_variances=variances, seed=2, attacks=["be-dr", "ndr"])
    different = {"id", "created_at"}
    assert {k: v for k, v in again.items() if k not in different} == {
        k: v for k, v in found.items() if k not in different
    }


def test_levels_are_audited_by_name_once_each(admin: TestClient, dataset: str) -> None:
    admin.put(f"/v1/datasets/{dataset}/levels/near", json={"noise_variance": 0.5})
    admin.put(f"/v1/datasets/{dataset}/levels/same", json={"noise_variance": 0.5})
    found = audit(admin, dataset, levels=["near", "same"], noise_variances=[0.5])
    assert len(found["copies"]) == 1
    assert {"near", "same"} <= set(found["copies"][0]["levels"])


def test_every_score_of_an_audit_has_a_baseline_and_a_control(
    admin: TestClient, dataset: str
) -> None:
    found = audit(admin, dataset, noise_variances=[0.5])
    for side in ("joint", "independent"):
        for one in found[side]:
            baseline = one["baseline"]["normalised_error"]["overall"]
            assert baseline == pytest.approx(1)
            assert one["score"]["rmse"]["overall"] < one["control"]["rmse"]["overall"]
            low, high = one["score"]["rmse"]["interval"]
            assert low <= one["score"]["rmse"]["overall"] <= high


def test_retired_rows_and_rows_with_gaps_are_left_out(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(200))
    whole = audit(admin, dataset, noise_variances=[1], attacks=["be-dr"])
    rows = list(range(50))
    admin.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": rows})
    issue(admin, dataset, noise_variance=1.0)
    found = audit(admin, dataset, issued=True, attacks=["be-dr"])
    assert 0 < found["rows"] < whole["rows"] <= 200


def test_a_sample_of_rows_is_enough(admin: TestClient, dataset: str) -> None:
    issue(admin, dataset, noise_variance=1.0)
    found = audit(admin, dataset, issued=True, rows=100, attacks=["be-dr"])
    assert 50 < found["rows"] <= 100


@pytest.mark.parametrize(
    ("accept", "begins"), [("image/png", b"\x89PNG"), ("image/svg+xml", b"<?xml")]
)
def test_an_audit_can_be_seen(admin: TestClient, dataset: str, accept: str, begins: bytes) -> None:
    found = audit(admin, dataset, noise_variances=[0.3, 0.6], attacks=["be-dr"])
    answer = admin.get(f"/v1/datasets/{dataset}/audits/{found['id']}", headers={"Accept": accept})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == accept
    assert answer.content.startswith(begins)


def test_audits_page_in_the_order_they_were_run(service_on_each_database: Service) -> None:
    client = service_on_each_database.client()
    dataset = register(client, mixed_table(50))
    made = [
        audit(client, dataset, noise_variances=[1], attacks=["ndr"], seed=seed)["id"]
        for seed in range(5)
    ]
    seen, cursor = [], None
    for _ in range(4):
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = client.get(f"/v1/datasets/{dataset}/audits", params=params).json()
        seen += [one["id"] for one in page["audits"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == made


def test_the_owner_audits_an_auditor_reads_and_others_know_nothing(service: Service) -> None:
    _, owner = service.caller("owner")
    dataset = register(owner, mixed_table(60))
    url = f"/v1/datasets/{dataset}/audits"
    form = {"noise_variances": [1.0], "attacks": ["be-dr"]}
    found = audit(owner, dataset, **form)
    _, auditor = service.caller("auditor")
    assert auditor.get(url).json()["audits"] == [found]
    assert auditor.post(url, json=form).status_code == 403
    _, stranger = service.caller("recipient")
    for answer in (stranger.post(url, json=form), stranger.get(url), stranger.get(f"{url}/au_1")):
        assert answer.status_code == 404
    log = service.client().get("/v1/audit-log").json()["entries"]
    assert any(entry["action"] == "audit.run" for entry in log)


def test_a_write_with_an_idempotency_key_is_audited_once(admin: TestClient, dataset: str) -> None:
    headers = {"Idempotency-Key": "once"}
    form = {"noise_variances": [1.0], "attacks": ["ndr"]}
    first, second = (
        admin.post(f"/v1/datasets/{dataset}/audits", json=form, headers=headers) for _ in range(2)
    )
    assert first.json() == second.json()
    assert len(admin.get(f"/v1/datasets/{dataset}/audits").json()["audits"]) == 1


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({}, 422),
        ({"issued": True}, 422),
        ({"levels": ["nobody"]}, 404),
        ({"noise_variances": [0]}, 422),
        ({"noise_variances": [1e30]}, 422),
        ({"noise_variances": [1], "attacks": []}, 422),
        ({"noise_variances": [1], "attacks": ["partial-disclosure"]}, 422),
        ({"noise_variances": [1], "rows": 1}, 422),
        ({"noise_variance": [1]}, 422),
        ({"noise_variances": [0.01 * (i + 1) for i in range(201)]}, 422),
    ],
)
def test_what_cannot_be_audited_is_a_clear_problem(
    admin: TestClient, dataset: str, form: dict[str, Any], status: int
) -> None:
    answer = admin.post(f"/v1/datasets/{dataset}/audits", json=form)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_data_set_without_numbers_cannot_be_audited(admin: TestClient) -> None:
    made = admin.post(
        "/v1/datasets?name=words",
        content="city\nRome\nOslo\nRome\n",
        headers={"content-type": "text/csv"},
    ).json()
    answer = admin.post(f"/v1/datasets/{made['id']}/audits", json={"noise_variances": [1]})
    assert answer.status_code == 409
    assert answer.json()["type"] == "/problems/not-releasable"


def test_without_a_complete_row_an_audit_says_what_can_be_audited(admin: TestClient) -> None:
    rows = np.random.default_rng(1).normal(size=(300, 3))
    gappy = [
        [None if row % 3 == column else x for row, x in enumerate(rows[:, column])]
        for column in range(3)
    ]
    dataset = register(admin, pa.table(dict(zip("abc", gappy, strict=True))), columns=None)
    issue(admin, dataset, noise_variance=1.0)
    answer = admin.post(f"/v1/datasets/{dataset}/audits", json={"issued": True})
    assert answer.status_code == 409
    assert "Copies are issued all the same" in answer.json()["detail"]
    assert "register the columns that rows have together" in answer.json()["detail"]
    # As it says.
    there = pa.table({"a": gappy[0], "b": gappy[1]})
    apart = register(admin, there, columns=None, name="apart")
    audit(admin, apart, noise_variances=[1.0], attacks=["be-dr"])


def test_an_audit_that_does_not_exist_is_not_found(admin: TestClient, dataset: str) -> None:
    assert admin.get(f"/v1/datasets/{dataset}/audits/au_0").status_code == 404
    assert admin.get("/v1/datasets/ds_0/audits").status_code == 404
