"""Skewed columns on the log scale: noise in octaves, in copies, law, advice and attacks alike."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
from fastapi.testclient import TestClient

from app.numerics.copies.scales import on_scale
from tests.api.conftest import Service
from tests.api.copies.copy_tables import as_parquet, issue, register, rows_of

ROWS = 2_000
LOG = {"sales": {"kind": "numeric", "scale": "log", "scale_unit": 0.0001}}


def skewed(seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    size = rng.normal(size=(ROWS, 2))
    sales = np.exp(1.5 * size[:, 0])
    return pa.table({"sales": sales, "staff": 50 + 8 * size[:, 0] + 6 * size[:, 1]})


def test_noise_is_in_octaves_as_the_law_says(admin: TestClient) -> None:
    table = skewed()
    dataset = register(admin, table, columns=json.dumps(LOG), levels=False)
    copy = issue(admin, dataset, noise_variance=1.0)["id"]
    law = admin.get(f"/v1/copies/{copy}/noise").json()
    assert law["scale_units"] == [0.0001, None]
    shown = rows_of(admin, copy)
    assert shown["sales"].to_numpy().min() > 0
    noise = np.array(
        [
            on_scale(shown[name].to_numpy(), unit) - on_scale(table[name].to_numpy(), unit)
            for name, unit in zip(law["columns"], law["scale_units"], strict=True)
        ]
    )
    covariance = np.array(law["parts"][0]["covariance"])
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert (np.abs(np.cov(noise) - covariance) / scale).max() < 4 * np.sqrt(2 / ROWS)
    # Noise of v = 1 is as large as the spread of the octaves.
    octaves = on_scale(table["sales"].to_numpy(), 0.0001)
    assert 0.9 < covariance[0, 0] / octaves.var() < 1.5
    # The largest hundredth is as hidden, in proportion to its size, as all others.
    sales = table["sales"].to_numpy()
    largest = sales >= np.quantile(sales, 0.99)
    assert 0.5 < np.abs(noise[0][largest]).mean() / np.abs(noise[0]).mean() < 2


def test_a_skewed_column_is_weakly_protected_until_it_is_on_the_log_scale(
    admin: TestClient,
) -> None:
    for columns, named in ((None, {"sales"}), (json.dumps(LOG), set())):
        dataset = register(admin, skewed(), name=f"{columns}", columns=columns, levels=False)
        level = admin.put(f"/v1/datasets/{dataset}/levels/a", json={"privacy": 0.5})
        advice = level.json()["advice"]
        assert {one["target"] for one in advice["weakly_protected"]} == named
    assert [one["scale"] for one in advice["noise"]] == ["log", "linear"]
    preview = admin.post(f"/v1/datasets/{dataset}/preview", json={"noise_variances": [1.0]})
    assert preview.status_code == 200, preview.text


def test_an_audit_of_an_issued_copy_attacks_on_the_scale(admin: TestClient) -> None:
    dataset = register(admin, skewed(), columns=json.dumps(LOG), levels=False)
    issue(admin, dataset, noise_variance=1.0)
    audit = admin.post(f"/v1/datasets/{dataset}/audits", json={"noise_variances": [1.0]})
    assert audit.status_code in (200, 201), audit.text
    assert audit.json()["verdict"] == "ok"


def test_it_is_proposed_for_skewed_columns_with_its_reason(service: Service) -> None:
    owner = service.client()
    rng = np.random.default_rng(3)
    gain = np.where(rng.random(ROWS) < 0.9, 0.0, rng.lognormal(8, 1, ROWS).round())
    table = skewed().append_column("gain", pa.array(gain))
    answer = owner.post(
        "/v1/datasets",
        params={"name": "skewed", "dry_run": "true"},
        content=as_parquet(table),
        headers={"content-type": "application/vnd.apache.parquet"},
    )
    columns = {one["name"]: one for one in answer.json()["columns"]}
    (sales,) = [one for one in columns["sales"]["proposals"] if one["parameter"] == "columns"]
    assert sales["value"] == {"sales": {"scale": "log", "scale_unit": 0.0001}}
    assert "log scale" in sales["reason"]
    assert not columns["staff"]["proposals"]
    assert any("category beside" in one["reason"] for one in columns["gain"]["proposals"])


def test_a_log_scale_needs_a_numeric_column_and_a_positive_unit(admin: TestClient) -> None:
    dataset = register(admin, skewed(), columns=None, levels=False)
    url = f"/v1/datasets/{dataset}/columns"
    for said in ({"scale": "log", "scale_unit": 0}, {"kind": "categorical", "scale": "log"}):
        answer = admin.put(url, json={"staff": said})
        assert answer.status_code == 422, said
    found = admin.put(url, json={"staff": {"scale_unit": 2}}).json()["columns"]
    assert [(one["scale"], one["scale_unit"]) for one in found] == [("linear", None), ("log", 2.0)]
    found = admin.put(url, json={"staff": {"scale": "linear"}}).json()["columns"]
    assert [one["scale"] for one in found] == ["linear", "linear"]
