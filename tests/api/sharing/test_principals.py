"""Principals and keys: made, rotated, revoked; each role may do its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.store.database import tables
from app.store.database.engine import reading
from tests.api.conftest import Service
from tests.api.copies.copy_tables import mixed_table, register


def test_a_key_works_and_is_kept_only_as_a_hash(service: Service) -> None:
    made = service.client().post("/v1/principals", json={"name": "weather-team"}).json()
    assert made["role"] == "recipient"
    shown = service.client(made["key"]).get(f"/v1/principals/{made['id']}")
    assert shown.status_code == 200
    secret = made["key"].split("_", 2)[2]
    with reading(service.app.state.resources.engine) as connection:
        kept = connection.execute(select(tables.keys)).all()
    assert len(kept) == 2
    assert all(secret not in str(row) for row in kept)


@pytest.mark.parametrize("authorization", ["", "Bearer", "Basic abc", "Bearer nonsense"])
def test_without_a_valid_key_there_is_nothing(service: Service, authorization: str) -> None:
    client = service.client(key=None)
    response = client.get("/v1/principals", headers={"Authorization": authorization})
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["type"] == "/problems/unauthenticated"


def test_the_right_id_with_a_wrong_secret_is_refused(service: Service) -> None:
    made = service.client().post("/v1/principals", json={"name": "x"}).json()
    prefix, key_id, secret = made["key"].split("_", 2)
    wrong = f"{prefix}_{key_id}_{secret[::-1]}"
    assert service.client(wrong).get(f"/v1/principals/{made['id']}").status_code == 401


def test_rotation_replaces_all_keys(service: Service) -> None:
    made = service.client().post("/v1/principals", json={"name": "x"}).json()
    holder = service.client(made["key"])
    rotated = holder.post(f"/v1/principals/{made['id']}/keys")
    assert rotated.status_code == 201
    assert holder.get(f"/v1/principals/{made['id']}").status_code == 401
    fresh = service.client(rotated.json()["key"])
    assert fresh.get(f"/v1/principals/{made['id']}").status_code == 200


def test_a_revoked_key_and_a_revoked_principal_stop_at_once(service: Service) -> None:
    recipient, client = service.principal("recipient")
    admin = service.client()
    key_id = admin.get(f"/v1/principals/{recipient}").json()["keys"][0]
    assert admin.delete(f"/v1/principals/{recipient}/keys/{key_id}").status_code == 204
    assert client.get("/v1/datasets").status_code == 401
    assert admin.delete(f"/v1/principals/{recipient}/keys/{key_id}").status_code == 404
    assert admin.delete(f"/v1/principals/{recipient}").status_code == 204
    assert admin.get(f"/v1/principals/{recipient}").json()["revoked_at"] is not None
    assert admin.post(f"/v1/principals/{recipient}/keys").status_code == 404


def test_an_owner_makes_recipients_and_nothing_higher(service: Service) -> None:
    _, owner = service.principal("owner")
    assert owner.post("/v1/principals", json={"name": "a"}).status_code == 201
    for role in ("admin", "owner", "auditor"):
        refused = owner.post("/v1/principals", json={"name": role, "role": role})
        assert refused.status_code == 403


def test_an_owner_sees_whom_it_made_and_its_partners_alone(
    service_on_each_database: Service,
) -> None:
    service = service_on_each_database
    owner_id, owner = service.principal("owner")
    stranger_id, _ = service.principal("recipient")
    granted_id, _ = service.principal("recipient")
    agreed_id, agreed = service.principal("recipient")
    own_id = owner.post("/v1/principals", json={"name": "own"}).json()["id"]
    dataset = register(owner, mixed_table(100))

    def seen(client: TestClient) -> set[str]:
        return {one["id"] for one in client.get("/v1/principals").json()["principals"]}

    assert seen(owner) == {owner_id, own_id}
    # An id that it was told makes a partner.
    grant = {"level": "d"}
    at = f"/v1/datasets/{dataset}/grants/{granted_id}"
    assert owner.put(at, json=grant).status_code == 200
    owner.patch(f"/v1/datasets/{dataset}", json={"listed": True})
    owner.put(f"/v1/datasets/{dataset}/levels/d", json={"noise_variance": 4.0, "offered": True})
    terms = {"items": [{"dataset": dataset, "level": "d"}], "purpose": "research"}
    assert agreed.post("/v1/agreements", json=terms).status_code == 201
    assert seen(owner) == {owner_id, own_id, granted_id, agreed_id}
    assert owner.get(f"/v1/principals/{agreed_id}").status_code == 200
    assert owner.get(f"/v1/principals/{stranger_id}").status_code == 404
    _, other = service.principal("owner")
    assert own_id not in seen(other)
    assert {own_id, stranger_id} <= seen(service.client())
    assert {own_id, stranger_id} <= seen(service.principal("auditor")[1])


@pytest.mark.parametrize("role", ["recipient", "auditor"])
def test_others_make_nobody(service: Service, role: str) -> None:
    _, client = service.principal(role)
    assert client.post("/v1/principals", json={"name": "a"}).status_code == 403


def test_a_recipient_sees_itself_and_no_other_principal(service: Service) -> None:
    own, client = service.principal("recipient")
    other, _ = service.principal("recipient")
    assert client.get(f"/v1/principals/{own}").status_code == 200
    assert client.get(f"/v1/principals/{other}").status_code == 403
    assert client.post(f"/v1/principals/{other}/keys").status_code == 403
    assert client.get("/v1/principals").status_code == 403


def test_names_are_unique_and_readable(admin: TestClient) -> None:
    assert admin.post("/v1/principals", json={"name": "a"}).status_code == 201
    assert admin.post("/v1/principals", json={"name": "a"}).status_code == 409
    for name in ("", " a", "../a", "a/b", "a\\b", "a\nb", "x" * 201):
        assert admin.post("/v1/principals", json={"name": name}).status_code == 422


def test_lists_page_to_the_end(service: Service) -> None:
    admin = service.client()
    names = {f"n{number}" for number in range(7)}
    for name in names:
        admin.post("/v1/principals", json={"name": name})
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = admin.get("/v1/principals", params=params).json()
        seen += [one["name"] for one in page["principals"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == 8
    assert names < set(seen)
    assert admin.get("/v1/principals", params={"cursor": "%%%"}).status_code == 422


def test_beyond_the_rate_a_key_waits_and_the_log_keeps_it_once(
    sqlite_database: str, start_service: Callable[..., Service], redis_url: str
) -> None:
    for settings in ({}, {"REDIS_URL": redis_url}, {"REDIS_URL": "redis://127.0.0.1:1/0"}):
        service = start_service(sqlite_database, MAX_REQUESTS_PER_MINUTE="5", **settings)
        client = service.client()
        answers = [client.get("/v1/principals") for _ in range(12)]
        statuses = [answer.status_code for answer in answers]
        assert statuses.count(429) >= 2, settings
        limited = next(answer for answer in answers if answer.status_code == 429)
        assert 1 <= int(limited.headers["retry-after"]) <= 60
