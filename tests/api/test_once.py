"""Idempotency-Key: a write is done once and its answer repeated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from app.model import Caller, Role
from app.service.asking import Ask, work
from app.store import callers
from tests.api.conftest import Service


def test_a_repeated_write_gives_the_same_answer_and_happens_once(
    service_on_each_database: Service,
) -> None:
    admin = service_on_each_database.client()
    headers = {"Idempotency-Key": "k1"}
    first = admin.post("/v1/recipients", json={"name": "a"}, headers=headers)
    again = admin.post("/v1/recipients", json={"name": "a"}, headers=headers)
    assert first.status_code == again.status_code == 201
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert len(admin.get("/v1/recipients").json()["recipients"]) == 2


def test_the_same_key_for_another_request_is_a_conflict(service: Service) -> None:
    admin = service.client()
    headers = {"Idempotency-Key": "k1"}
    admin.post("/v1/recipients", json={"name": "a"}, headers=headers)
    other = admin.post("/v1/recipients", json={"name": "b"}, headers=headers)
    assert other.status_code == 409
    assert other.json()["type"] == "/problems/idempotency-conflict"


def test_keys_of_different_callers_do_not_meet(service: Service) -> None:
    _, owner = service.caller("owner")
    headers = {"Idempotency-Key": "k1"}
    assert service.client().post("/v1/recipients", json={"name": "a"}, headers=headers).is_success
    assert owner.post("/v1/recipients", json={"name": "b"}, headers=headers).json()["name"] == "b"


def test_a_failed_write_may_be_tried_again_with_its_key(service: Service) -> None:
    admin = service.client()
    headers = {"Idempotency-Key": "k1"}
    assert admin.post("/v1/recipients", json={"name": "/"}, headers=headers).status_code == 422
    assert admin.post("/v1/recipients", json={"name": "a"}, headers=headers).status_code == 201


def test_a_write_without_an_answer_to_repeat_is_repeated_too(service: Service) -> None:
    recipient, _ = service.caller("recipient")
    headers = {"Idempotency-Key": "k1"}
    admin = service.client()
    for _ in range(2):
        assert admin.delete(f"/v1/recipients/{recipient}", headers=headers).status_code == 204


def test_the_same_write_sent_at_once_by_many_happens_once(
    service_on_each_database: Service,
) -> None:
    service = service_on_each_database

    def send(_: int) -> int:
        form = {"name": "a"}
        headers = {"Idempotency-Key": "k1"}
        answer = service.client().post("/v1/recipients", json=form, headers=headers)
        return int(answer.status_code)

    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(send, range(6)))
    assert statuses.count(201) >= 1
    assert set(statuses) <= {201, 409}
    assert len(service.client().get("/v1/recipients").json()["recipients"]) == 2


def test_a_write_that_is_not_recorded_is_not_kept(service: Service) -> None:
    ask = Ask(Caller("rc_asking", "asking", Role.ADMIN), "request")
    unrecorded = work(service.app.state.resources, ask)
    with pytest.raises(ValueError, match="must be recorded"), unrecorded as under_way:
        callers.add(under_way.connection, Caller("rc_new", "new", Role.OWNER), under_way.now)
    assert service.client().get("/v1/recipients/rc_new").status_code == 404
