"""Idempotency-Key: a write is done once and its answer repeated."""

from __future__ import annotations

import hashlib
import io
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from fastapi import Request
from httpx2 import Response
from starlette.types import Scope

from app.api.transport.request_body import Fingerprint
from app.model import Principal, Role
from app.service.context import RequestContext
from app.service.unit_of_work import unit_of_work
from app.store.database.sharing import principals
from tests.api.conftest import Service

TABLE = b"age,income\n1,2\n2,5\n3,1\n"
OTHER = b"age,income\n1,2\n2,5\n3,7\n"
CSV = {"Content-Type": "text/csv"}


def test_a_repeated_write_gives_the_same_answer_and_happens_once(
    service: Service,
) -> None:
    admin = service.client()
    headers = {"Idempotency-Key": "k1", **CSV}
    first = admin.post("/v1/datasets?name=a", content=TABLE, headers=headers)
    again = admin.post("/v1/datasets?name=a", content=TABLE, headers=headers)
    assert first.status_code == again.status_code == 201
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert len(admin.get("/v1/datasets").json()["datasets"]) == 1


def test_the_same_key_for_another_table_of_the_same_length_is_a_conflict(
    service: Service,
) -> None:
    admin = service.client()
    made = admin.post("/v1/datasets?name=a", content=TABLE, headers=CSV).json()["id"]
    path = f"/v1/datasets/{made}/rows?allow_versions=true"
    headers = {"Idempotency-Key": "k1", **CSV}
    assert admin.post(path, content=TABLE, headers=headers).status_code == 201
    other = admin.post(path, content=OTHER, headers=headers)
    assert other.status_code == 409
    assert other.json()["type"] == "/problems/idempotency-conflict"
    assert admin.post(path, content=TABLE, headers=headers).headers["idempotency-replayed"]
    assert admin.get(f"/v1/datasets/{made}").json()["rows"] == 6


def test_what_follows_a_table_in_its_body_counts_too(service: Service) -> None:
    admin = service.client()
    made = admin.post("/v1/datasets?name=a", content=TABLE, headers=CSV).json()["id"]
    sink = io.BytesIO()
    table = pa.table({"age": [1.0, 2.0], "income": [1.0, 2.0]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    headers = {
        "Idempotency-Key": "k1",
        "Content-Type": "application/vnd.apache.arrow.stream",
    }
    path = f"/v1/datasets/{made}/rows"
    # A reader of Arrow streams stops at the end of the stream, whatever follows it.
    first = admin.post(path, content=sink.getvalue() + b"a" * 9_000, headers=headers)
    assert first.status_code == 201
    other = admin.post(path, content=sink.getvalue() + b"b" * 9_000, headers=headers)
    assert other.status_code == 409


def test_a_form_is_the_same_with_another_boundary(service: Service) -> None:
    def hashed(boundary: bytes, parts: list[bytes], key: bytes = b"k" * 32) -> str:
        scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": "/",
            "query_string": b"",
            "server": ("x", 80),
            "headers": [(b"content-type", b"multipart/form-data; boundary=" + boundary)],
        }
        fingerprint = Fingerprint(Request(scope), key)
        for part in parts:
            fingerprint.update(part)
        return fingerprint.hexdigest()

    body = b"--%s\r\n\r\na\r\n--%s--\r\n"
    one, two = body % (b"one", b"one"), body % (b"eleven", b"eleven")
    whole = hashed(b"one", [one])
    assert whole == hashed(b"eleven", [two])
    assert whole == hashed(b"one", [one[at : at + 1] for at in range(len(one))])
    assert whole != hashed(b"one", [one.replace(b"a", b"b")])
    # What is kept of a request tells nobody without the key whether a guess at its body is right.
    assert whole != hashed(b"one", [one], b"l" * 32)


def test_a_fingerprint_is_the_same_when_it_is_asked_for_again() -> None:
    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "server": ("x", 80),
        "headers": [],
    }
    fingerprint = Fingerprint(Request(scope), b"k" * 32)
    fingerprint.update(TABLE)
    assert fingerprint.hexdigest() == fingerprint.hexdigest()
    # A one-time authenticator would not do: the key is that of all requests.
    keyed = hashlib.blake2b(b"POST\0/\0\0" + TABLE, key=b"k" * 32, digest_size=32)
    assert fingerprint.hexdigest() == keyed.hexdigest()


def test_a_key_that_is_shown_once_is_not_repeated(service: Service) -> None:
    admin = service.client()
    headers = {"Idempotency-Key": "k1"}
    first = admin.post("/v1/principals", json={"name": "a"}, headers=headers)
    assert first.headers["cache-control"] == "no-store"
    again = admin.post("/v1/principals", json={"name": "a"}, headers=headers)
    assert again.status_code == 409
    assert again.json()["subject"] == first.json()["id"]
    assert first.json()["key"] not in again.text
    rotated = admin.post(
        f"/v1/principals/{first.json()['id']}/keys", headers=headers | {"Idempotency-Key": "k2"}
    )
    assert rotated.status_code == 201
    again = admin.post(
        f"/v1/principals/{first.json()['id']}/keys", headers=headers | {"Idempotency-Key": "k2"}
    )
    assert again.status_code == 409
    assert rotated.json()["key"] not in again.text
    assert len(admin.get("/v1/principals").json()["principals"]) == 2


def test_an_answer_is_not_repeated_when_the_right_to_it_has_changed(
    service: Service,
) -> None:
    admin = service.client()
    made = admin.post("/v1/datasets?name=a", content=TABLE, headers=CSV).json()["id"]
    for level, variance in (("low", 0.5), ("high", 1.5)):
        path = f"/v1/datasets/{made}/levels/{level}"
        assert admin.put(path, json={"noise_variance": variance}).is_success
    recipient, theirs = service.principal("recipient")
    grant = f"/v1/datasets/{made}/grants/{recipient}"
    assert admin.put(grant, json={"level": "low"}).is_success
    path, headers = f"/v1/datasets/{made}/copies", {"Idempotency-Key": "k1"}
    assert admin.post(path, json={"level": "high"}).status_code == 201

    def asked() -> Response:
        return theirs.post(path, json={"level": "low"}, headers=headers)

    first = asked()
    assert first.status_code == 201
    assert asked().json() == first.json()
    assert admin.put(grant, json={"level": "high"}).is_success
    assert asked().status_code == 409
    assert admin.put(grant, json={"level": "low"}).is_success
    assert asked().json() == first.json()
    assert admin.delete(grant).is_success
    assert asked().status_code == 404


def test_the_same_key_for_another_request_is_a_conflict(service: Service) -> None:
    admin = service.client()
    headers = {"Idempotency-Key": "k1"}
    admin.post("/v1/principals", json={"name": "a"}, headers=headers)
    other = admin.post("/v1/principals", json={"name": "b"}, headers=headers)
    assert other.status_code == 409
    assert other.json()["type"] == "/problems/idempotency-conflict"


def test_keys_of_different_principals_do_not_meet(service: Service) -> None:
    _, owner = service.principal("owner")
    headers = {"Idempotency-Key": "k1"}
    assert service.client().post("/v1/principals", json={"name": "a"}, headers=headers).is_success
    assert owner.post("/v1/principals", json={"name": "b"}, headers=headers).json()["name"] == "b"


def test_a_failed_write_may_be_tried_again_with_its_key(service: Service) -> None:
    admin = service.client()
    headers = {"Idempotency-Key": "k1"}
    assert admin.post("/v1/principals", json={"name": "/"}, headers=headers).status_code == 422
    assert admin.post("/v1/principals", json={"name": "a"}, headers=headers).status_code == 201


def test_a_write_without_an_answer_to_repeat_is_repeated_too(service: Service) -> None:
    recipient, _ = service.principal("recipient")
    headers = {"Idempotency-Key": "k1"}
    admin = service.client()
    for _ in range(2):
        assert admin.delete(f"/v1/principals/{recipient}", headers=headers).status_code == 204


def test_the_same_write_sent_at_once_by_many_happens_once(
    service_on_each_database: Service,
) -> None:
    service = service_on_each_database

    def send(_: int) -> int:
        form = {"name": "a"}
        headers = {"Idempotency-Key": "k1"}
        answer = service.client().post("/v1/principals", json=form, headers=headers)
        return int(answer.status_code)

    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(send, range(6)))
    assert statuses.count(201) >= 1
    assert set(statuses) <= {201, 409}
    assert len(service.client().get("/v1/principals").json()["principals"]) == 2


def test_a_write_that_is_not_recorded_is_not_kept(service: Service) -> None:
    context = RequestContext(Principal("rc_asking", "asking", Role.ADMIN), "request")
    unrecorded = unit_of_work(service.app.state.resources, context)
    with pytest.raises(ValueError, match="must be recorded"), unrecorded as uow:
        principals.add(uow.connection, Principal("rc_new", "new", Role.OWNER), uow.now)
    assert service.client().get("/v1/principals/rc_new").status_code == 404
