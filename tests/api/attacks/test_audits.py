"""Audits over HTTP: what copies reveal alone, together and to every attacker, and who may ask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service
from tests.api.copies.copy_tables import (
    PARQUET,
    append,
    as_parquet,
    issue,
    mixed_table,
    register,
)

ROWS = 600
RISKS = {"inference", "singling out", "linkability"}


def audit(client: TestClient, dataset: str, **form: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/datasets/{dataset}/audits", json=form)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def of_target(found: dict[str, Any], target: str) -> dict[str, Any]:
    (one,) = [one for one in found["findings"] if one["target"] == target]
    return dict(one)


@pytest.fixture
def dataset(admin: TestClient) -> str:
    return register(admin, mixed_table(ROWS))


def test_issued_copies_reveal_together_what_the_best_reveals_alone(
    service: Service,
) -> None:
    client = service.client()
    dataset = register(client, mixed_table(ROWS))
    for variance in (4.0, 1.0, 2.0):
        issue(client, dataset, noise_variance=variance)
    found = audit(client, dataset, issued=True)
    assert found["measured_on"] == "issued copies"
    assert [copy["noise_variance"] for copy in found["copies"]] == [4.0, 1.0, 2.0]
    assert all(copy["copy_id"] for copy in found["copies"])
    for copy in found["copies"]:
        assert copy["normalised_error"] >= copy["privacy"] - 0.05
    assert found["pooling_gain"] == pytest.approx(0, abs=0.02)
    last = found["by_copies"][-1]
    assert last["independent"] < last["joint"] - 0.1
    assert {one["risk"] for one in found["findings"]} == RISKS
    assert {one["promised"] for one in found["findings"]} == {0.5}
    assert found["verdict"] == "ok", found["summary"]
    targets = {one["target"] for one in found["findings"]}
    assert {"age", "income", "score", "row of a known person"} <= targets
    assert client.get(f"/v1/datasets/{dataset}/audits/{found['id']}").json() == found
    listed = client.get(f"/v1/datasets/{dataset}/audits").json()
    assert listed == {"audits": [found], "next_cursor": None}


def test_levels_that_were_not_issued_are_simulated_and_have_the_same_verdict_every_time(
    admin: TestClient, dataset: str
) -> None:
    variances = [0.5, 1.0, 2.0]
    found = audit(admin, dataset, noise_variances=variances)
    assert found["measured_on"] == "simulated copies"
    assert [copy["copy_id"] for copy in found["copies"]] == [None] * 3
    assert found["verdict"] == "ok", found["summary"]
    assert not admin.get(f"/v1/datasets/{dataset}").json()["frozen"]
    again = audit(admin, dataset, noise_variances=variances)
    different = {"id", "created_at"}
    assert {k: v for k, v in again.items() if k not in different} == {
        k: v for k, v in found.items() if k not in different
    }


def test_a_skewed_column_asks_for_attention_and_comes_first_with_a_remedy(
    admin: TestClient,
) -> None:
    """As the capital gains of adult: few have any, and some have very much."""
    rng = np.random.default_rng(3)
    some = rng.random(2_000) < 0.03
    gains = np.where(some, np.exp(rng.normal(8.0, 1.2, 2_000)), 0.0)
    table = pa.table({"size": rng.normal(size=2_000), "gain": gains})
    dataset = register(admin, table, columns=None)
    found = audit(admin, dataset, noise_variances=[1.0])
    worst = found["findings"][0]
    assert (worst["target"], worst["verdict"]) == ("gain", "attention")
    assert worst["left"] < 0.4
    assert "gain" in worst["remedy"]
    assert found["verdict"] == "attention"
    assert "gain" in found["summary"]
    assert of_target(found, "size")["verdict"] == "ok"


@pytest.mark.parametrize("rows", [1_000, 10_000])
def test_a_sorted_table_is_reported_and_the_same_in_random_order_is_not(
    admin: TestClient, rows: int
) -> None:
    """On all rows, and on a sample: it is taken in runs, in which neighbours are neighbours."""
    rng = np.random.default_rng(4)
    values = np.sort(rng.normal(size=2_500))
    other = rng.normal(size=2_500)
    for size, verdict in ((values, "attention"), (rng.permutation(values), "ok")):
        table = pa.table({"size": size, "other": other})
        dataset = register(admin, table, name=f"in order: {verdict}", columns=None)
        url = f"/v1/datasets/{dataset}/rows"
        assert admin.request("DELETE", url, json={"rows": [3, 700]}).status_code == 200
        found = audit(admin, dataset, noise_variances=[1.0], rows=rows)
        assert of_target(found, "size")["verdict"] == verdict
        assert of_target(found, "other")["verdict"] == "ok"
        if verdict == "attention":
            assert of_target(found, "size")["attacker"] == "neighbouring rows"


def test_versions_of_a_row_are_reported(admin: TestClient) -> None:
    table = mixed_table(300)
    made = admin.post(
        "/v1/datasets",
        params={"name": "people", "key_column": "person", "columns": '{"person": "identifier"}'},
        content=as_parquet(table),
        headers={"content-type": PARQUET},
    )
    dataset = made.json()["id"]
    assert of_target(audit(admin, dataset, noise_variances=[9.0]), "a person with one row")
    for _ in range(3):
        answer = admin.post(
            f"/v1/datasets/{dataset}/rows",
            params={"allow_versions": "true"},
            content=as_parquet(table),
            headers={"content-type": PARQUET},
        )
        assert answer.status_code == 201, answer.text
    one = of_target(audit(admin, dataset, noise_variances=[9.0]), "a person with 4 rows")
    assert one["verdict"] == "attention"
    assert one["left"] == pytest.approx(9 / 13)


def test_a_date_that_categories_tell_is_audited_after_a_copy_was_issued(admin: TestClient) -> None:
    rng = np.random.default_rng(5)
    months = rng.integers(0, 12, 600)
    table = pa.table(
        {
            "seen": pa.array((months * 30).astype(np.int32)).cast(pa.date32()),
            "month": [f"month {month}" for month in months],
            "size": rng.normal(size=600),
        }
    )
    dataset = register(admin, table, columns=None)
    issue(admin, dataset, noise_variance=1.0)
    found = audit(admin, dataset, issued=True)
    assert of_target(found, "seen")["left"] > 0.45


def test_every_part_is_attacked_within_its_own_rows(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(400))
    issue(admin, dataset, noise_variance=1.0)
    append(admin, dataset, mixed_table(300, seed=1))
    found = audit(admin, dataset, issued=True)
    assert found["rows"] == 700
    for part in (0, 1):
        assert of_target(found, f"a combination of numbers, part {part}")["left"] > 0.4


def test_levels_are_audited_by_name_once_each(admin: TestClient, dataset: str) -> None:
    admin.put(f"/v1/datasets/{dataset}/levels/near", json={"noise_variance": 0.5})
    admin.put(f"/v1/datasets/{dataset}/levels/same", json={"noise_variance": 0.5})
    found = audit(admin, dataset, levels=["near", "same"], noise_variances=[0.5])
    assert len(found["copies"]) == 1
    assert {"near", "same"} <= set(found["copies"][0]["levels"])


def test_retired_rows_are_left_out_and_a_sample_is_enough(admin: TestClient) -> None:
    dataset = register(admin, mixed_table(200))
    rows = list(range(50))
    admin.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": rows})
    issue(admin, dataset, noise_variance=1.0)
    assert audit(admin, dataset, issued=True)["rows"] == 150
    assert audit(admin, dataset, issued=True, rows=100)["rows"] <= 100


def test_tables_of_categories_and_of_gaps_are_audited(admin: TestClient) -> None:
    made = admin.post(
        "/v1/datasets?name=words",
        content="city,job\n" + "Rome,cook\nOslo,smith\nRome,smith\n" * 20,
        headers={"content-type": "text/csv"},
    ).json()
    found = audit(admin, made["id"], noise_variances=[1])
    assert of_target(found, "job = smith")["verdict"] == "ok"
    rows = np.random.default_rng(1).normal(size=(300, 3))
    rows[np.arange(300), np.arange(300) % 3] = np.nan
    gappy = {name: pa.array(x, from_pandas=True) for name, x in zip("abc", rows.T, strict=True)}
    dataset = register(admin, pa.table(gappy), columns=None)
    issue(admin, dataset, noise_variance=1.0)
    assert of_target(audit(admin, dataset, issued=True), "a")["verdict"] == "ok"


@pytest.mark.parametrize(
    ("accept", "begins"), [("image/png", b"\x89PNG"), ("image/svg+xml", b"<?xml")]
)
def test_an_audit_can_be_seen(admin: TestClient, dataset: str, accept: str, begins: bytes) -> None:
    found = audit(admin, dataset, noise_variances=[0.3, 0.6])
    answer = admin.get(f"/v1/datasets/{dataset}/audits/{found['id']}", headers={"Accept": accept})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == accept
    assert answer.content.startswith(begins)


def test_audits_page_in_the_order_they_were_run(service_on_each_database: Service) -> None:
    client = service_on_each_database.client()
    dataset = register(client, mixed_table(50))
    made = [audit(client, dataset, noise_variances=[1])["id"] for _ in range(5)]
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
    _, owner = service.principal("owner")
    dataset = register(owner, mixed_table(60))
    url = f"/v1/datasets/{dataset}/audits"
    form = {"noise_variances": [1.0]}
    found = audit(owner, dataset, **form)
    _, auditor = service.principal("auditor")
    assert auditor.get(url).json()["audits"] == [found]
    assert auditor.post(url, json=form).status_code == 403
    _, stranger = service.principal("recipient")
    for answer in (stranger.post(url, json=form), stranger.get(url), stranger.get(f"{url}/au_1")):
        assert answer.status_code == 404
    log = service.client().get("/v1/audit-log").json()["entries"]
    assert any(entry["action"] == "audit.run" for entry in log)


def test_a_write_with_an_idempotency_key_is_audited_once(admin: TestClient, dataset: str) -> None:
    headers = {"Idempotency-Key": "once"}
    form = {"noise_variances": [1.0]}
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


def test_one_row_cannot_be_audited(admin: TestClient) -> None:
    dataset = register(admin, pa.table({"size": [1.0]}), columns='{"size": "numeric"}')
    answer = admin.post(f"/v1/datasets/{dataset}/audits", json={"noise_variances": [1]})
    assert answer.status_code == 409
    assert answer.json()["type"] == "/problems/not-releasable"


def test_an_audit_that_does_not_exist_is_not_found(admin: TestClient, dataset: str) -> None:
    assert admin.get(f"/v1/datasets/{dataset}/audits/au_0").status_code == 404
    assert admin.get("/v1/datasets/ds_0/audits").status_code == 404
