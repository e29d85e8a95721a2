"""Requests are shed by the length and by the delay of the queue for a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from app.api.serving.admission import LoadSheddingMiddleware

NEVER = 1e9


async def respond(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


async def status(middleware: LoadSheddingMiddleware, path: str = "/v1/datasets") -> int:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "headers": [],
        "query_string": b"",
        "app": FastAPI(),
    }
    await middleware(scope, receive, send)
    return int(sent[0]["status"])


@asynccontextmanager
async def waiting_for_a_thread(number: int) -> AsyncIterator[None]:
    """Take all threads, with `number` tasks waiting for one, while the block runs."""
    threads = current_default_thread_limiter()
    threads.total_tokens = 1
    over = asyncio.Event()

    async def hold() -> None:
        async with threads:
            await over.wait()

    tasks = [asyncio.create_task(hold()) for _ in range(1 + number)]
    while threads.statistics().tasks_waiting < number:
        await asyncio.sleep(0)
    yield
    over.set()
    await asyncio.gather(*tasks)
    while threads.statistics().borrowed_tokens:
        await asyncio.sleep(0)


def test_a_full_queue_sheds_requests_but_no_probes() -> None:
    async def tried() -> None:
        middleware = LoadSheddingMiddleware(respond, max_waiting=3, max_delay_seconds=NEVER)
        async with waiting_for_a_thread(1):
            assert await status(middleware) == 200
        async with waiting_for_a_thread(3):
            assert await status(middleware) == 503
            assert await status(middleware, "/health") == 200

    asyncio.run(tried())


def test_a_slow_queue_sheds_requests_until_it_is_empty() -> None:
    async def tried() -> None:
        middleware = LoadSheddingMiddleware(respond, max_waiting=100, max_delay_seconds=0.0)
        async with waiting_for_a_thread(1):
            assert await status(middleware) == 200  # no delay is measured yet
            await asyncio.sleep(0.02)
            assert await status(middleware) == 503
            assert await status(middleware, "/ready") == 200
        # The queue is empty: the last delay does not count.
        assert await status(middleware) == 200
        async with waiting_for_a_thread(1):
            assert await status(middleware) == 200

    asyncio.run(tried())


def test_the_last_delay_counts_until_the_next_is_measured() -> None:
    async def tried() -> None:
        middleware = LoadSheddingMiddleware(respond, max_waiting=100, max_delay_seconds=0.01)
        async with waiting_for_a_thread(1):
            assert await status(middleware) == 200
            await asyncio.sleep(0.05)
        async with waiting_for_a_thread(1):
            assert await status(middleware) == 503

    asyncio.run(tried())
