"""Load beyond capacity is answered with 503 at once, before it makes everybody wait.

A route works in one of the process's threads, and a request goes through their queue several times: for
its caller, its route, its answer. When this many wait for a thread, or when the queue takes this long,
a further one would wait longer than its caller: it is told to come back. How long the queue takes is
measured by somebody who stands in it for nothing else. What watches the service is let by.
"""

from __future__ import annotations

import asyncio
import time

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter
from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.transport.problems import problem_of
from app.errors import Busy

WAITING = 80
"""Requests that may wait for a thread: twice as many as there are threads."""

QUEUE_SECONDS = 0.5
"""How long one may wait for a thread, before others are told to come back."""

WATCHING = ("/health", "/ready", "/metrics")
RETRY_SECONDS = 2


class Shedding:
    """ASGI middleware, inside what observes."""

    def __init__(
        self, app: ASGIApp, waiting: int = WAITING, queue_seconds: float = QUEUE_SECONDS
    ) -> None:
        self.app = app
        self._waiting = waiting
        self._queue_seconds = queue_seconds
        self._queue = Queue()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in WATCHING or not self._is_full():
            await self.app(scope, receive, send)
            return
        busy = Busy(
            "More requests wait than the service can answer soon; nothing was done.",
            seconds=RETRY_SECONDS,
        )
        await problem_of(Request(scope), busy)(scope, receive, send)

    def _is_full(self) -> bool:
        threads = current_default_thread_limiter()
        waiting = threads.statistics().tasks_waiting
        if not waiting:
            self._queue.forget()
            return False
        return waiting >= self._waiting or self._queue.seconds(threads) > self._queue_seconds


class Queue:
    """How long the queue for a thread takes, looked at whenever somebody asks."""

    def __init__(self) -> None:
        self._took = 0.0
        self._joined = 0.0
        self._standing: asyncio.Task[None] | None = None

    def seconds(self, threads: CapacityLimiter) -> float:
        """What it took last, or takes already."""
        now = time.monotonic()
        if self._standing is None:
            self._joined = now
            self._standing = asyncio.create_task(self._stand(threads))
        return max(self._took, now - self._joined)

    def forget(self) -> None:
        """Nobody waits: what it took last says nothing any more."""
        self._took = 0.0

    async def _stand(self, threads: CapacityLimiter) -> None:
        try:
            async with threads:
                self._took = time.monotonic() - self._joined
        finally:
            self._standing = None
