"""Uploads over a socket: in bounded memory, refused while they are sent, cut off by the sender."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.api.conftest import stored_blobs
from tests.api.datasets.test_bad_tables import SECRET, assert_nothing_is_stored, refused
from tests.e2e.running import ADMIN_KEY, Service, serving

CSV = {"content-type": "text/csv"}


def rows_of(count: int) -> Iterator[bytes]:
    part = b"1.25,x\n" * 2**14
    yield b"age,city\n"
    for _ in range(count // 2**14):
        yield part


def ragged() -> Iterator[bytes]:
    yield from (b"age,city\n", b"1,x\n", SECRET.encode() + b"\n")
    yield from rows_of(2**22)


def begun(service: Service, announced_bytes: int) -> socket.socket:
    """A connection on which a registration has begun."""
    plain = socket.create_connection(("127.0.0.1", urlsplit(service.url).port or 80))
    plain.sendall(
        b"POST /v1/datasets?name=bad HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n"
        b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
        % (ADMIN_KEY.encode(), announced_bytes)
    )
    return plain


def peak_resident_bytes(service: Service) -> int:
    status = Path(f"/proc/{service.process.pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


def settle(service: Service) -> None:
    """Wait until the start is over: the noise is compiled beside the first requests, in memory too."""
    peaks = [0]
    while len(peaks) < 10 or peaks[-1] != peaks[-10]:
        time.sleep(0.2)
        peaks.append(peak_resident_bytes(service))


def test_bodies_stream_and_are_refused_while_they_are_sent(tmp_path: Path) -> None:
    """A refusal reaches a client that is still sending, and the next request finds all in order."""
    home, url = tmp_path / "home", "/v1/datasets?name=bad"
    with serving(home, {"MAX_UPLOAD_BYTES": str(160 * 2**20)}) as service:
        client = service.client
        refused(client.post(url, content=ragged(), headers=CSV), 422)
        refused(client.post(url, content=rows_of(2**25), headers=CSV), 413)
        picture = {"content-type": "image/png"}
        refused(client.post(url, content=rows_of(2**22), headers=picture), 415)
        with begun(service, announced_bytes=99_999_999_999) as plain:
            assert b" 413 " in plain.recv(64)
        assert_nothing_is_stored(client, home)
        before = peak_resident_bytes(service)
        made = client.post("/v1/datasets?name=good", content=rows_of(2**23), headers=CSV)
        assert made.json()["rows"] == 2**23
        assert peak_resident_bytes(service) - before < 150 * 2**20
    for log in home.glob("*.log"):
        assert SECRET not in log.read_text(encoding="utf-8")


def spooled(service: Service) -> bool:
    """Whether the process has a nameless file open, in which a body is set aside."""
    opened = Path(f"/proc/{service.process.pid}/fd").iterdir()
    return any("/spool/" in os.readlink(file) for file in opened if file.is_symlink())


def test_a_sender_that_goes_away_leaves_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with serving(home, {}) as service:
        with begun(service, announced_bytes=999_999_999) as plain:
            for part in rows_of(2**20):
                plain.sendall(part)
            while not spooled(service):
                time.sleep(0.02)
            assert stored_blobs(home) == []
        while spooled(service):
            time.sleep(0.02)
        assert_nothing_is_stored(service.client, home)
