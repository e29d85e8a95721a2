"""Who may do what, and what others cannot tell apart from nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.store.database import tables
from app.store.database.engine import writing
from tests.api.conftest import Service
from tests.api.datasets.test_datasets import register


@pytest.fixture
def owner(service: Service) -> TestClient:
    return service.principal("owner")[1]


@pytest.fixture
def dataset_id(owner: TestClient) -> str:
    made: str = register(owner)["id"]
    owner.put(f"/v1/datasets/{made}/levels/partner", json={"noise_variance": 0.25})
    owner.put(f"/v1/datasets/{made}/levels/public", json={"privacy": 0.5})
    return made


def test_forbidden_and_missing_look_the_same(service: Service, dataset_id: str) -> None:
    _, stranger = service.principal("recipient")
    _, other_owner = service.principal("owner")
    for client in (stranger, other_owner):
        for method, path in (
            ("GET", ""),
            ("GET", "/levels"),
            ("GET", "/grants"),
            ("DELETE", ""),
        ):
            real = client.request(method, f"/v1/datasets/{dataset_id}{path}")
            absent = client.request(method, f"/v1/datasets/ds_00000000000000000000{path}")
            assert real.status_code == absent.status_code == 404
            drop = {"detail", "request_id"}
            left = {k: v for k, v in real.json().items() if k not in drop}
            right = {k: v for k, v in absent.json().items() if k not in drop}
            assert left == right
            masked = absent.json()["detail"].replace("ds_00000000000000000000", dataset_id)
            assert real.json()["detail"] == masked
            assert set(real.headers) == set(absent.headers)
    entries = service.client().get("/v1/audit-log", params={"limit": 1000}).json()["entries"]
    refused = [entry["subject"] for entry in entries if entry["outcome"] == "refused"]
    # Both are logged: were one of them not, the time of an answer would tell them apart.
    assert sum(dataset_id in subject for subject in refused) == 8
    assert sum("ds_0000" in subject for subject in refused) == 8


def test_a_recipient_sees_what_it_was_granted_and_no_more(
    service: Service, owner: TestClient, dataset_id: str
) -> None:
    recipient, client = service.principal("recipient")
    form = {"level": "public", "columns": ["age"]}
    assert owner.put(f"/v1/datasets/{dataset_id}/grants/{recipient}", json=form).status_code == 200
    assert [one["id"] for one in client.get("/v1/datasets").json()["datasets"]] == [dataset_id]
    shown = client.get(f"/v1/datasets/{dataset_id}").json()
    assert [column["name"] for column in shown["columns"]] == ["age"]
    levels = client.get(f"/v1/datasets/{dataset_id}/levels").json()["levels"]
    assert [level["name"] for level in levels] == ["public"]
    assert client.delete(f"/v1/datasets/{dataset_id}").status_code == 403
    assert client.get(f"/v1/datasets/{dataset_id}/grants").status_code == 403
    assert owner.delete(f"/v1/datasets/{dataset_id}/grants/{recipient}").status_code == 204
    assert client.get(f"/v1/datasets/{dataset_id}").status_code == 404
    assert client.get("/v1/datasets").json()["datasets"] == []


def test_an_expired_grant_is_no_grant(service: Service, owner: TestClient, dataset_id: str) -> None:
    recipient, client = service.principal("recipient")
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    form = {"level": "public", "expires_at": soon}
    assert owner.put(f"/v1/datasets/{dataset_id}/grants/{recipient}", json=form).status_code == 200
    assert client.get(f"/v1/datasets/{dataset_id}").status_code == 200
    with writing(service.app.state.resources.engine) as connection:
        past = datetime.now(UTC) - timedelta(seconds=1)
        connection.execute(update(tables.grants).values(expires_at=past))
    assert client.get(f"/v1/datasets/{dataset_id}").status_code == 404
    assert client.get("/v1/datasets").json()["datasets"] == []


@pytest.mark.parametrize(
    "form",
    [
        {"level": "nobody-defined-it"},
        {"level": "public", "columns": ["person_id"]},
        {"level": "public", "columns": ["nobody"]},
        {"level": "public", "columns": []},
        {"level": "public", "expires_at": "2020-01-01T00:00:00Z"},
        {"level": "public", "expires_at": "2999-01-01T00:00:00"},
    ],
)
def test_a_grant_must_make_sense(
    service: Service, owner: TestClient, dataset_id: str, form: dict[str, object]
) -> None:
    recipient, _ = service.principal("recipient")
    answer = owner.put(f"/v1/datasets/{dataset_id}/grants/{recipient}", json=form)
    assert answer.status_code == 422
    assert owner.get(f"/v1/datasets/{dataset_id}/grants").json()["grants"] == []


def test_only_recipients_get_grants(service: Service, owner: TestClient, dataset_id: str) -> None:
    auditor, _ = service.principal("auditor")
    for who in (auditor, "rc_nobody"):
        url = f"/v1/datasets/{dataset_id}/grants/{who}"
        assert owner.put(url, json={"level": "public"}).status_code == 404


def test_levels_come_by_variance_or_by_privacy(owner: TestClient, dataset_id: str) -> None:
    levels = owner.get(f"/v1/datasets/{dataset_id}/levels").json()["levels"]
    fresh = {"issued": False, "offered": False, "guarantee": None}
    assert levels == [
        {"name": "partner", "noise_variance": 0.25, "privacy": 0.2} | fresh,
        {"name": "public", "noise_variance": 1.0, "privacy": 0.5} | fresh,
    ]
    changed = owner.put(f"/v1/datasets/{dataset_id}/levels/public", json={"noise_variance": 2})
    assert changed.json()["noise_variance"] == 2


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        '{"noise_variance": 1, "privacy": 0.5}',
        '{"noise_variance": 0}',
        '{"noise_variance": -1}',
        '{"noise_variance": NaN}',
        '{"noise_variance": Infinity}',
        '{"noise_variance": 1e300}',
        '{"privacy": 0}',
        '{"privacy": 1}',
        '{"noise_variance": "much"}',
        '{"sigma": 1}',
    ],
)
def test_a_level_without_a_usable_variance_is_refused(
    owner: TestClient, dataset_id: str, body: str
) -> None:
    headers = {"content-type": "application/json"}
    url = f"/v1/datasets/{dataset_id}/levels/new"
    assert owner.put(url, content=body, headers=headers).status_code == 422
    names = [
        level["name"] for level in owner.get(f"/v1/datasets/{dataset_id}/levels").json()["levels"]
    ]
    assert "new" not in names


def test_writes_and_refusals_are_in_the_log_and_the_log_is_for_auditors(
    service: Service, owner: TestClient, dataset_id: str
) -> None:
    _, stranger = service.principal("recipient")
    stranger.get(f"/v1/datasets/{dataset_id}")
    service.client(key=None).get("/v1/datasets")
    assert stranger.get("/v1/audit-log").status_code == 403
    assert owner.get("/v1/audit-log").status_code == 403
    _, auditor = service.principal("auditor")
    entries = auditor.get("/v1/audit-log", params={"limit": 1000}).json()["entries"]
    actions = [entry["action"] for entry in entries]
    assert actions.count("level.put") == 2
    assert "dataset.register" in actions
    refused = [entry["facts"]["reason"] for entry in entries if entry["outcome"] == "refused"]
    assert refused == ["not-found", "unauthenticated", "forbidden", "forbidden"]
    assert [entry["sequence"] for entry in entries] == list(range(1, len(entries) + 1))
    paged = auditor.get("/v1/audit-log", params={"limit": 2}).json()
    cursor = paged["next_cursor"]
    following = auditor.get("/v1/audit-log", params={"limit": 2, "cursor": cursor}).json()
    assert following["entries"][0]["sequence"] == 3
    assert auditor.get("/v1/audit-log", params={"cursor": "eHl6"}).status_code == 422
