"""Where the advice on a level fails unexpectedly, nothing is kept that its owner was not told of."""

from __future__ import annotations

import logging

import pytest
from fastapi.testclient import TestClient

from app.service.copies import advice
from tests.api.conftest import Service
from tests.api.copies.copy_tables import mixed_table, register


def defect(*_: object) -> None:
    """Every look at the rows for advice fails, as a defect of ours would."""
    raise ZeroDivisionError("a value of the table")


def test_a_level_is_not_defined_where_its_answer_fails(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = service.client()
    dataset = register(client, mixed_table(60))
    url = f"/v1/datasets/{dataset}/levels"
    before = client.get(url).json()
    monkeypatch.setattr(advice, "_sample", defect)
    for name in ("new", before["levels"][0]["name"]):
        assert client.put(f"{url}/{name}", json={"noise_variance": 7.0}).status_code == 500
    assert client.get(url).json() == before
    done = client.get("/v1/audit-log", params={"limit": 200}).json()["entries"]
    assert not [one for one in done if one["facts"].get("noise_variance") == 7.0]


def test_a_copy_is_answered_without_advice_where_that_fails(
    admin: TestClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was drawn before, and cannot be taken back."""
    dataset = register(admin, mixed_table(60))
    monkeypatch.setattr(advice, "_sample", defect)
    with caplog.at_level(logging.ERROR, "cornerwave.copies"):
        issued = admin.post(f"/v1/datasets/{dataset}/copies", json={"level": "a"})
    assert (issued.status_code, issued.json()["advice"]) == (201, None)
    (line,) = [one for one in caplog.records if one.name == "cornerwave.copies"]
    assert "ZeroDivisionError" in str(line.__dict__["failure"])
    assert "a value" not in str(line.__dict__)
    assert admin.get(f"/v1/copies/{issued.json()['id']}/content").status_code == 200


def test_a_level_that_may_not_change_is_refused_before_anything_is_computed(
    admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = register(admin, mixed_table(60))
    admin.post(f"/v1/datasets/{dataset}/copies", json={"level": "a"}).raise_for_status()
    monkeypatch.setattr(advice, "_sample", defect)
    answer = admin.put(f"/v1/datasets/{dataset}/levels/a", json={"noise_variance": 7.0})
    assert answer.json()["type"] == "/problems/level-issued"
