"""Load shedding: requests beyond capacity get 503 with Retry-After at once.

A route works in one of the process's threads, and a request queues for them several times: for its principal, its
route, its response. A request is shed when too many wait for a thread, or when the queue takes too long. The delay
of the queue is measured by a probe that waits in it. Probes of health are let through.
"""

from __future__ import annotations

import asyncio
import time

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter
from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.transport.access_log import PROBES
from app.api.transport.problems import problem_of
from app.errors import Busy

MAX_WAITING = 80
"""Requests that may wait for a thread: twice as many as there are threads."""

MAX_DELAY_SECONDS = 0.5
"""How long one may wait for a thread before further requests are shed."""

RETRY_SECONDS = 2


class LoadSheddingMiddleware:
    """ASGI middleware, inside the access log."""

    def __init__(
        self,
        app: ASGIApp,
        max_waiting: int = MAX_WAITING,
        max_delay_seconds: float = MAX_DELAY_SECONDS,
    ) -> None:
        self.app = app
        self._max_waiting = max_waiting
        self._max_delay_seconds = max_delay_seconds
        self._delay = QueueDelay()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PROBES or not self._is_overloaded():
            await self.app(scope, receive, send)
            return
        busy = Busy(
            "More requests wait than the service can answer soon; nothing was done.",
            seconds=RETRY_SECONDS,
        )
        await problem_of(Request(scope), busy)(scope, receive, send)

    def _is_overloaded(self) -> bool:
        threads = current_default_thread_limiter()
        waiting = threads.statistics().tasks_waiting
        if not waiting:
            self._delay.reset()
            return False
        return (
            waiting >= self._max_waiting or self._delay.seconds(threads) > self._max_delay_seconds
        )


class QueueDelay:
    """Delay of the queue for a thread, measured by one probe at a time."""

    def __init__(self) -> None:
        self._last = 0.0
        self._began = 0.0
        self._probe: asyncio.Task[None] | None = None

    def seconds(self, threads: CapacityLimiter) -> float:
        """Return the last delay, or that of the waiting probe if it is longer; start a probe if none waits."""
        now = time.monotonic()
        if self._probe is None:
            self._began = now
            self._probe = asyncio.create_task(self._wait(threads))
        return max(self._last, now - self._began)

    def reset(self) -> None:
        """Reset the measured delay."""
        self._last = 0.0

    async def _wait(self, threads: CapacityLimiter) -> None:
        try:
            async with threads:
                self._last = time.monotonic() - self._began
        finally:
            self._probe = None
