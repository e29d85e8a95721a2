"""A body read by a plain route in its thread, as it arrives."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Annotated

import httpx2
import psutil
import pytest
import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse, Response

from app.api.transport.incoming.arriving import RequestBody, request_body
from app.errors import TooLarge

LIMIT = 300 * 2**20
SMALL = 2**20


async def body_of(request: Request) -> RequestBody:
    return await request_body(request, LIMIT)


async def small_body_of(request: Request) -> RequestBody:
    return await request_body(request, SMALL)


def service() -> FastAPI:
    app = FastAPI()

    @app.post("/digest")
    def digest(body: Annotated[RequestBody, Depends(body_of)]) -> dict[str, object]:
        digest, size = hashlib.sha256(), 0
        while data := body.read(2**20):
            digest.update(data)
            size += len(data)
        return {"size": size, "digest": digest.hexdigest(), "count": body.count}

    @app.post("/small")
    def small(body: Annotated[RequestBody, Depends(small_body_of)]) -> int:
        while body.read(2**16):
            pass
        return body.count

    @app.post("/odd")
    def odd(body: Annotated[RequestBody, Depends(body_of)]) -> list[int]:
        sizes = []
        while data := body.read(1_001):
            sizes.append(len(data))
        return sizes

    @app.post("/elsewhere")
    def elsewhere(body: Annotated[RequestBody, Depends(body_of)]) -> int:
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
def client() -> Iterator[httpx2.Client]:
    """A client of the service on a real server: only there does a body stream."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(service(), log_level="warning"))
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


def test_a_long_body_streams_in_memory_that_does_not_grow(client: httpx2.Client) -> None:
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
    assert answer["size"] == answer["count"] == 800 * len(part)
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
