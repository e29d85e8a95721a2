"""Connections over real sockets: heads are bounded, idle ones make room, addresses are not taken on
trust."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2

from tests.e2e.running import serving
from tests.e2e.test_abuse import begun, connection
from tests.e2e.test_uploads import peak_resident_bytes, settle

MIB = 2**20


def answer_of(sender: socket.socket) -> tuple[int, dict[str, object]]:
    """The status and the problem that a connection gets."""
    said = sender.makefile("rb").read()
    head, _, body = said.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_a_head_has_a_length(tmp_path: Path) -> None:
    with serving(tmp_path, {}) as service:
        settle(service)
        before = peak_resident_bytes(service)
        for head in (
            b"GET /health HTTP/1.1\r\nx: " + b"a" * (60 * MIB),
            b"GET /health HTTP/1.1\r\n" + b"a: b\r\n" * (4 * MIB),
            b"GET /health HTTP/1.1\r\na: " + b"a" * 65_000 + b"\r\nb: " + b"b" * 600 + b"\r\n\r\n",
            b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        ):
            with connection(service) as sender:
                with suppress(OSError):
                    sender.sendall(head)
                status, problem = answer_of(sender)
                assert status == problem["status"] == 431
        assert peak_resident_bytes(service) - before < 30 * MIB
        headers = {f"x-{number}": "a" * 1000 for number in range(40)}
        assert service.client.get("/health", headers=headers).status_code == 200


def test_what_frames_a_body_has_a_length_too(tmp_path: Path) -> None:
    with serving(tmp_path, {}) as service, connection(service) as sender:
        head = b"POST /v1/principals HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        settle(service)
        before = peak_resident_bytes(service)
        with suppress(OSError):
            sender.sendall(head + b"0\r\nx: " + b"a" * (30 * MIB))
        assert service.client.get("/health").status_code == 200
        assert peak_resident_bytes(service) - before < 20 * MIB


def test_idle_connections_make_room_for_those_who_ask(tmp_path: Path) -> None:
    with serving(tmp_path, {"MAX_CONNECTIONS": "50"}) as service, ExitStack() as opened:
        for _ in range(200):
            idle = opened.enter_context(connection(service))
            idle.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(3):
            assert httpx2.get(f"{service.url}/health", timeout=60).status_code == 200


def test_with_all_connections_at_work_a_new_one_is_turned_away(tmp_path: Path) -> None:
    with serving(tmp_path, {"MAX_CONNECTIONS": "10"}) as service, ExitStack() as opened:
        service.client.close()
        key = "end-to-end-tests-know-this-key-0123456789"
        busy = [
            opened.enter_context(begun(service, f"/v1/datasets?name=b{n}", key, 100, b"a,b\n1,2\n"))
            for n in range(10)
        ]
        assert len(busy) == 10
        turned_away = opened.enter_context(connection(service))
        turned_away.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        status, problem = answer_of(turned_away)
        assert (status, problem["type"]) == (503, "/problems/busy")
        busy[0].close()
        while True:
            answer = httpx2.get(f"{service.url}/health", timeout=60)
            if answer.status_code == 200:
                break


def test_the_forwarded_address_counts_only_from_proxies_that_were_named(tmp_path: Path) -> None:
    def statuses(home: Path, **settings: str) -> list[int]:
        with serving(home, {"MAX_REQUESTS_PER_MINUTE": "3", **settings}) as service:
            return [
                httpx2.get(
                    f"{service.url}/v1/datasets",
                    headers={"X-Forwarded-For": f"192.0.2.{number}"},
                    timeout=60,
                ).status_code
                for number in range(8)
            ]

    # Eight requests in two minutes at most: at least two of them are beyond the three a minute.
    assert statuses(tmp_path / "nobody").count(429) >= 2
    named = {"TRUSTED_PROXIES": "127.0.0.0/8"}
    assert statuses(tmp_path / "named", **named) == [401] * 8
