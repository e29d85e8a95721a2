"""Requests that a shutdown cancels; with uvicorn around them: tests/e2e/test_shutdown.py."""

from __future__ import annotations

import asyncio
import threading

import pytest
from anyio import to_thread
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from app.api.serving.admission import Shutdown, ShutdownMiddleware

START: Message = {"type": "http.response.start", "status": 200, "headers": []}


async def receive() -> Message:
    return {"type": "http.disconnect"}


async def cancelled(*, started: bool, begun: bool) -> list[Message]:
    """Cancel a request whose thread works on; return what it sent."""
    over, sent = threading.Event(), list[Message]()

    async def send(message: Message) -> None:
        sent.append(message)

    async def work(scope: Scope, receive: Receive, send: Send) -> None:
        if started:
            await send(START)
        await to_thread.run_sync(over.wait)

    shutdown = Shutdown()
    middleware = ShutdownMiddleware(work, shutdown)
    scope = {"type": "http", "path": "/", "method": "GET", "headers": [], "app": FastAPI()}
    request = asyncio.create_task(middleware(scope, receive, send))
    await asyncio.sleep(0.02)
    shutdown.begun = begun
    request.cancel()
    try:
        await request
    finally:
        over.set()
    return sent


def test_a_cancelled_request_without_a_response_gets_503_while_its_thread_works() -> None:
    start, _ = asyncio.run(cancelled(started=False, begun=True))
    assert start["status"] == 503
    assert {(b"retry-after", b"5"), (b"connection", b"close")} <= set(start["headers"])


@pytest.mark.parametrize(("started", "begun"), [(True, True), (False, False)])
def test_a_response_that_has_started_is_cut_off(started: bool, begun: bool) -> None:
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled(started=started, begun=begun))
