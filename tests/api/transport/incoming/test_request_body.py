"""Bodies on their way in: the principal first, not too slowly, and let go of after an early answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from app.api.transport import request_body
from tests.api.conftest import Service
from tests.api.transport.asgi import spoken

CSV = {"content-type": "text/csv"}
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("key", [None, "an-unknown-key"])
@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/principals", JSON),
        ("/v1/datasets?name=a", CSV),
        ("/v1/attacks/score", {"content-type": "multipart/form-data; boundary=x"}),
    ],
)
def test_nothing_is_read_of_a_body_before_the_principal_is_known(
    service: Service, key: str | None, path: str, headers: dict[str, str]
) -> None:
    answered = spoken(service.app, "POST", path, [b"[", b"]"], headers, key=key)
    assert answered.status == 401
    assert answered.read_before_answer == 0


def test_an_early_answer_is_followed_by_what_is_left_of_the_body(service: Service) -> None:
    parts = [b"x" * 1000] * 50
    answered = spoken(service.app, "POST", "/v1/datasets?name=a", parts, CSV, key=None)
    assert answered.read == len(parts)
    assert answered.headers[b"connection"] == b"close"
    # The whole answer left before the rest was read, for senders that look while they send.
    assert answered.sent[1]["body"]
    assert answered.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


def test_no_more_of_a_refused_body_is_read_than_is_bearable(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_body, "LEFT_BYTES", 10_000)
    monkeypatch.setattr(request_body, "LEFT_SECONDS", 0.05)
    parts = [b"x" * 1000] * 50
    long = spoken(service.app, "POST", "/v1/datasets?name=a", parts, CSV, key=None)
    assert long.read == 10
    stalled = spoken(service.app, "POST", "/v1/principals", [b"x"], JSON, key=None, stalls=True)
    assert (stalled.status, stalled.read) == (401, 1)


def test_a_sender_that_waits_to_be_told_to_send_is_not_waited_for(service: Service) -> None:
    headers = {"expect": "100-continue", **CSV}
    answered = spoken(service.app, "POST", "/v1/datasets?name=a", [b"x"], headers, key=None)
    assert (answered.status, answered.read) == (401, 0)


@pytest.mark.parametrize(
    ("path", "headers"), [("/v1/datasets?name=a", CSV), ("/v1/principals", JSON)]
)
def test_a_body_that_stops_coming_is_told_so(
    sqlite_database: str,
    start_service: Callable[..., Service],
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    headers: dict[str, str],
) -> None:
    monkeypatch.setattr(request_body, "LEFT_SECONDS", 0.05)
    service = start_service(sqlite_database, BODY_SECONDS="1")
    answered = spoken(service.app, "POST", path, [b"a,b\n1,2\n"], headers, stalls=True)
    assert answered.status == 408
    assert b"request-timeout" in answered.sent[1]["body"]
    assert service.client().get("/v1/datasets").json()["datasets"] == []


def test_a_slow_body_that_brings_enough_is_taken(service: Service) -> None:
    parts = [b"a,b\n", *[b"%d,%d\n" % (row, row * row) for row in range(50)]]
    answered = spoken(service.app, "POST", "/v1/datasets?name=a", parts, CSV)
    assert answered.status == 201


def test_a_reader_that_takes_nothing_is_given_up() -> None:
    async def answers(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Message:
        raise AssertionError("nobody asked for the body")

    async def stalled(_: Message) -> None:
        await asyncio.Event().wait()

    scope: Scope = {"type": "http", "headers": [], "state": {}}
    with pytest.raises(ClientDisconnect):
        asyncio.run(
            request_body.SlowClientMiddleware(answers, seconds=0.01)(scope, receive, stalled)
        )
