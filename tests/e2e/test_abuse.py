"""Principals that mean harm, or know no better, over sockets: others go on, and each is told."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from tests.e2e.running import ADMIN_KEY, Service, serving
from tests.e2e.test_uploads import peak_resident_bytes, settle

CSV = b"age,income\n1,2\n2,5\n3,1\n"
MIB = 2**20


def connection(service: Service) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(service.url).port or 80))


def begun(service: Service, path: str, key: str, length: int, body: bytes = b"") -> socket.socket:
    """A request of which so many bytes are announced and these were sent."""
    opened = connection(service)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: text/csv\r\nContent-Length: {length}\r\n\r\n"
    )
    opened.sendall(head.encode() + body)
    return opened


def new_key(service: Service, name: str, role: str) -> str:
    made = service.client.post("/v1/principals", json={"name": name, "role": role})
    return str(made.json()["key"])


def posted(service: Service, path: str, key: str, body: bytes) -> int:
    """The status that urllib sees, which sends everything before it looks."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "text/csv"}
    request = urllib.request.Request(service.url + path, body, headers, method="POST")
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return int(json.load(refused)["status"])


def test_urllib_sees_every_refusal_of_a_large_body(tmp_path: Path) -> None:
    body = CSV + b"4,4\n" * (2 * MIB)
    with serving(tmp_path, {}) as service:
        assert posted(service, "/v1/datasets?name=a", ADMIN_KEY, CSV) == 201
        for _ in range(3):
            assert posted(service, "/v1/datasets?name=a", ADMIN_KEY, body) == 409
            assert posted(service, "/v1/datasets?name=b", "unknown", body) == 401
            assert posted(service, "/v1/principals", "unknown", body) == 401


def test_slow_senders_keep_nobody_else_from_uploading_and_are_told_in_the_end(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, {"BODY_SECONDS": "2"}) as service, ExitStack() as opened:
        slow, quick = (new_key(service, name, "owner") for name in ("slow", "quick"))
        senders = [
            opened.enter_context(begun(service, f"/v1/datasets?name=s{number}", slow, 10_000, CSV))
            for number in range(30)
        ]
        headers = {"Authorization": f"Bearer {quick}", "Content-Type": "text/csv"}
        made = service.client.post("/v1/datasets?name=q", content=CSV, headers=headers)
        assert made.status_code == 201
        for sender in senders:
            assert sender.makefile("rb").readline() == b"HTTP/1.1 408 Request Timeout\r\n"


def test_bodies_of_strangers_take_no_memory(tmp_path: Path) -> None:
    brackets = b"[" + b"[]," * (5 * MIB) + b"[]]"
    with serving(tmp_path, {}) as service, ExitStack() as opened:
        settle(service)
        before = peak_resident_bytes(service)
        headers = {"Content-Type": "application/json", "Authorization": "Bearer unknown"}
        for _ in range(3):
            answer = httpx2.post(
                f"{service.url}/v1/principals", content=brackets, headers=headers, timeout=60
            )
            assert answer.status_code == 401
        unfinished = [
            opened.enter_context(begun(service, "/v1/principals", "unknown", 16 * MIB))
            for _ in range(20)
        ]

        def send(sender: socket.socket) -> None:
            with suppress(OSError):
                sender.sendall(b" " * (15 * MIB))

        threads = [threading.Thread(target=send, args=(sender,)) for sender in unfinished]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert service.client.get("/ready").status_code == 200
        assert peak_resident_bytes(service) - before < 60 * MIB


def test_a_small_table_that_unpacks_to_much_takes_little_memory(tmp_path: Path) -> None:
    nested = gzip.compress(b'{"columns":{"a":[' + b"[]," * (5 * MIB) + b"[]]}}")
    cells = gzip.compress(b'{"columns":{"a":[' + b"0," * (30 * MIB) + b"0]}}")
    with serving(tmp_path, {}) as service:
        key = new_key(service, "r", "recipient")
        settle(service)
        before = peak_resident_bytes(service)
        headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
        }
        for body, status in ((nested, 422), (cells, 413)):
            answer = httpx2.post(
                f"{service.url}/v1/identifiability", content=body, headers=headers, timeout=60
            )
            assert answer.status_code == status, answer.text
        assert peak_resident_bytes(service) - before < 220 * MIB
