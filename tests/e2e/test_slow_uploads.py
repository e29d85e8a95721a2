"""Senders that take their time do not keep others waiting."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from app.api.transport.incoming.tables import UPLOADS_AT_ONCE
from tests.e2e.running import ADMIN_KEY, Service, serving

THREADS = 40
BODY = b"age,income\n1,2\n2,5\n3,1\n"


def half_sent(service: Service, name: str) -> socket.socket:
    """A registration of which the last line has not been sent."""
    connection = socket.create_connection(("127.0.0.1", urlsplit(service.url).port or 80))
    head = (
        f"POST /v1/datasets?name={name}&allow_overlap=true HTTP/1.1",
        "Host: cornerwave",
        f"Authorization: Bearer {ADMIN_KEY}",
        "Content-Type: text/csv",
        f"Content-Length: {len(BODY)}",
        "Connection: close",
    )
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + BODY[:-4])
    return connection


def test_slow_uploads_leave_threads_to_others_and_are_all_served(tmp_path: Path) -> None:
    assert UPLOADS_AT_ONCE < THREADS
    with serving(tmp_path, {}) as service, ExitStack() as opened:
        senders = [
            opened.enter_context(half_sent(service, f"slow-{number}"))
            for number in range(THREADS + 5)
        ]
        for address in ("/health", "/ready", "/v1/datasets"):
            assert service.client.get(address).status_code == 200
        for sender in senders:
            sender.sendall(BODY[-4:])
        for sender in senders:
            assert sender.makefile("rb").readline() == b"HTTP/1.1 201 Created\r\n"
        listed = service.client.get("/v1/datasets").json()["datasets"]
        assert len(listed) == len(senders)
