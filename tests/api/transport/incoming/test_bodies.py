"""JSON bodies: bounded in length and in what they unpack to, and parsed beside the event loop."""

from __future__ import annotations

import threading

import pytest
from fastapi.testclient import TestClient

from app.api.transport.incoming import bodies
from app.tables.bodies.json_size import JsonSize, json_size
from tests.api.conftest import Service
from tests.api.transport.asgi import spoken

JSON = {"content-type": "application/json"}


def refused(admin: TestClient, path: str, body: bytes) -> str:
    answer = admin.post(path, content=body, headers=JSON)
    assert answer.status_code == 413
    return str(answer.json()["detail"])


def test_a_form_may_have_a_mebibyte(admin: TestClient) -> None:
    body = b'{"name": "%s"}'
    assert "1048576 bytes" in refused(admin, "/v1/principals", body % (b"x" * 2**20))
    # The name itself is too long; the body is not.
    fits = admin.post("/v1/principals", content=body % (b"x" * (2**20 - 12)), headers=JSON)
    assert fits.status_code == 422


def test_no_more_is_read_of_a_body_than_it_may_have(service: Service) -> None:
    parts = [b" " * 2**18] * 20
    answered = spoken(service.app, "POST", "/v1/principals", parts, JSON)
    assert answered.status == 413
    assert answered.read_before_answer == 5


@pytest.mark.parametrize("body", [b"[" + b"[]," * 300_000 + b"[]]", b"[" + b"1," * 500_000 + b"1]"])
def test_a_small_body_that_unpacks_to_much_is_refused_before_it_is_parsed(
    admin: TestClient, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.transport.incoming.bodies.orjson", None)
    assert "lists and objects" in refused(admin, "/v1/principals", body)


def test_bodies_are_parsed_in_a_thread_of_their_own(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[threading.Thread] = []

    def noted(text: bytes) -> JsonSize:
        seen.append(threading.current_thread())
        return json_size(text)

    monkeypatch.setattr(bodies, "json_size", noted)
    # The event loop of `spoken` runs in this thread.
    answered = spoken(service.app, "POST", "/v1/principals", [b'{"name": "a"}'], JSON)
    assert answered.status == 201
    assert seen
    assert threading.current_thread() not in seen


def test_forms_that_carry_data_may_be_longer_and_wrong_values_are_one_error(
    admin: TestClient,
) -> None:
    noise = b'"noise": {"kind": "normal", "variance": 1}'
    values = b",".join(b"%.15f" % (number / 7) for number in range(100_000))
    assert len(values) > 2**20
    long = b'{"values": [' + values + b"], " + noise + b"}"
    assert admin.post("/v1/distributions/estimate", content=long, headers=JSON).is_success
    wrong = b'{"values": [' + b'"x",' * 200_000 + b'"x"], ' + noise + b"}"
    answer = admin.post("/v1/distributions/estimate", content=wrong, headers=JSON)
    assert answer.status_code == 422
    assert len(answer.json()["errors"]) == 1
