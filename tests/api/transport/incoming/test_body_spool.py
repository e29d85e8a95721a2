"""A body is set aside until it is complete, within what its principal may hold."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import httpx2
import psutil
import pytest
import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse, Response

from app.api.transport.incoming.bodies import SpoolQuota, received_body
from app.errors import QuotaExceeded, TooLarge
from app.tables.bodies.streams import ByteStream

LIMIT = 300 * 2**20
SMALL = 2**20
QUOTA = SpoolQuota(4 * LIMIT)


async def body_of(request: Request) -> AsyncIterator[ByteStream]:
    request.state.context = SimpleNamespace(principal=SimpleNamespace(id="somebody"))
    async with received_body(request, LIMIT) as body:
        yield body


async def small_body_of(request: Request) -> AsyncIterator[ByteStream]:
    request.state.context = SimpleNamespace(principal=SimpleNamespace(id="somebody"))
    async with received_body(request, SMALL) as body:
        yield body


def service(folder: Path) -> FastAPI:
    app = FastAPI()
    app.state.resources = SimpleNamespace(spool_dir=folder)
    app.state.spool_quota = QUOTA

    @app.post("/digest")
    def digest(body: Annotated[ByteStream, Depends(body_of)]) -> dict[str, object]:
        digest, size = hashlib.sha256(), 0
        while data := body.read(2**20):
            digest.update(data)
            size += len(data)
        return {"size": size, "digest": digest.hexdigest()}

    @app.post("/small")
    def small(body: Annotated[ByteStream, Depends(small_body_of)]) -> int:
        return len(body.read(2 * SMALL))

    @app.post("/odd")
    def odd(body: Annotated[ByteStream, Depends(body_of)]) -> list[int]:
        sizes = []
        while data := body.read(1_001):
            sizes.append(len(data))
        return sizes

    @app.post("/elsewhere")
    def elsewhere(body: Annotated[ByteStream, Depends(body_of)]) -> int:
        read: list[bytes] = []
        thread = threading.Thread(target=lambda: read.append(body.read(10)))
        thread.start()
        thread.join()
        return len(read[0])

    @app.exception_handler(TooLarge)
    def too_large(_request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": str(error)}, status_code=413)

    return app


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """A client of the service on a real server: only there does a body stream."""
    folder = tmp_path_factory.mktemp("spool")
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(service(folder), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    with httpx2.Client(
        base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=60
    ) as client:
        yield client
    server.should_exit = True
    thread.join()
    listener.close()


def test_reads_give_as_much_as_asked_until_the_end(client: httpx2.Client) -> None:
    assert client.post("/odd", content=b"x" * 2_500).json() == [1_001, 1_001, 498]
    assert client.post("/odd", content=b"").json() == []


def test_any_thread_may_read(client: httpx2.Client) -> None:
    assert client.post("/elsewhere", content=b"0123456789abc").json() == 10


def test_a_long_body_is_set_aside_in_memory_that_does_not_grow(client: httpx2.Client) -> None:
    part = bytes(range(256)) * 1_024
    peak = 0

    def parts(count: int) -> Iterator[bytes]:
        nonlocal peak
        for _ in range(count):
            peak = max(peak, psutil.Process().memory_info().rss)
            yield part

    client.post("/digest", content=parts(40))  # warm
    before = psutil.Process().memory_info().rss
    answer = client.post("/digest", content=parts(800)).json()
    assert answer["size"] == 800 * len(part)
    assert answer["digest"] == hashlib.sha256(part * 800).hexdigest()
    assert peak - before < 32 * 2**20


def test_an_announced_body_above_the_limit_is_refused_unread(client: httpx2.Client) -> None:
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as plain:
        plain.sendall(
            b"POST /digest HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (LIMIT + 1)
        )
        assert b" 413 " in plain.recv(64)


def test_a_body_that_grows_above_the_limit_is_refused(client: httpx2.Client) -> None:
    def parts(size: int) -> Iterator[bytes]:
        yield from [bytes(2**16)] * (size // 2**16)
        yield bytes(size % 2**16)

    assert client.post("/small", content=parts(SMALL)).json() == SMALL
    assert client.post("/small", content=parts(SMALL + 1)).status_code == 413


def test_a_principal_may_hold_as_much_as_is_still_free() -> None:
    quota, share = SpoolQuota(1_200), {1: 600, 2: 400, 3: 300}
    quota.reserve("first", share[1])
    with pytest.raises(QuotaExceeded):
        quota.reserve("first", 1)
    quota.release("first", share[1] - share[3])
    quota.reserve("second", share[3])
    quota.reserve("third", share[3])
    for principal in ("first", "second", "third"):  # each has a quarter, and a quarter is left
        with pytest.raises(QuotaExceeded):
            quota.reserve(principal, 1)
    quota.reserve("newcomer", share[3] // 2)


def test_what_a_request_holds_is_free_when_it_is_over(client: httpx2.Client) -> None:
    for content in (b"x" * SMALL, b"x" * (SMALL + 1)):
        client.post("/small", content=content)
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as plain:
        head = b"POST /digest HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % LIMIT
        plain.sendall(head + b"x" * SMALL)
        while not QUOTA.held:
            time.sleep(0.001)
    while QUOTA.held:
        time.sleep(0.001)
