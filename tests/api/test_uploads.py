"""Uploads over a socket: refused while they are sent, cut off by the sender, cut off by a kill."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.api.conftest import ADMIN_KEY
from tests.api.live_server import Server
from tests.api.test_bad_tables import CSV, SECRET, assert_nothing_is_stored, refused


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(**settings: str) -> Server:
        started.append(Server(tmp_path, **settings))
        return started[-1]

    yield start
    for server in started:
        if server.process.poll() is None:
            server.stop()


def rows_of(count: int) -> Iterator[bytes]:
    part = b"1.25,x\n" * 2**14
    yield b"age,city\n"
    for _ in range(count // 2**14):
        yield part


def begun(server: Server, announced_bytes: int) -> socket.socket:
    """A connection on which a registration has begun."""
    plain = socket.create_connection(("127.0.0.1", server.port))
    plain.sendall(
        b"POST /v1/datasets?name=bad HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n"
        b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
        % (ADMIN_KEY.encode(), announced_bytes)
    )
    return plain


def test_over_a_socket_bodies_stream_and_are_refused_while_they_are_sent(
    start_server: Callable[..., Server],
) -> None:
    """One server for several bodies: a refusal reaches a client that is still sending."""
    server = start_server(MAX_UPLOAD_BYTES=str(64 * 2**20))
    url, csv = "/v1/datasets?name=bad", {"content-type": CSV}

    def ragged() -> Iterator[bytes]:
        yield from (b"age,city\n", b"1,x\n", b"hunter2\n")
        yield from rows_of(2**22)

    refused(server.client.post(url, content=ragged(), headers=csv), 422)
    refused(server.client.post(url, content=rows_of(2**24), headers=csv), 413)
    refused(
        server.client.post(url, content=rows_of(2**22), headers={"content-type": "text/plain"}), 415
    )
    with begun(server, announced_bytes=99_999_999_999) as plain:
        assert b" 413 " in plain.recv(64)
    assert_nothing_is_stored(server.client, server.home)
    assert SECRET.encode() not in server.log
    before = server.resident_bytes()
    made = server.client.post("/v1/datasets?name=good", content=rows_of(2**23), headers=csv)
    assert made.json()["rows"] == 2**23
    assert server.resident_bytes() - before < 150 * 2**20


def test_a_sender_that_goes_away_leaves_nothing(start_server: Callable[..., Server]) -> None:
    server = start_server()
    with begun(server, announced_bytes=999_999_999) as plain:
        for part in rows_of(2**20):
            plain.sendall(part)
    while any((server.home / "blobs").iterdir()) or b'"status": 499' not in server.log:
        time.sleep(0.02)
    assert_nothing_is_stored(server.client, server.home)


def test_a_kill_during_a_registration_leaves_nothing_after_the_next_start(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    with begun(server, announced_bytes=999_999_999) as plain:
        for part in rows_of(2**20):
            plain.sendall(part)
        while not list((server.home / "blobs").glob("*.partial")):
            time.sleep(0.02)
        server.stop(signal.SIGKILL)
    assert list((server.home / "blobs").glob("*.partial"))
    again = start_server()
    assert_nothing_is_stored(again.client, again.home)
