"""Admission control: load shedding and graceful shutdown answer 503 with Retry-After.

Graceful shutdown: readiness is withdrawn first, requests are finished, the rest is refused. uvicorn stops accepting,
waits `timeout_graceful_shutdown` for responses and cancels the rest. Added here: a notice period before it, and 503
for a cancelled request whose response has not started. A response that has started is cut off, so that no client
takes its beginning for the whole.

Load shedding: a route works in one of the process's threads, and a request queues for them several times: for its
principal, its route, its response. A request is shed when too many wait for a thread, or when the queue takes too
long. The delay of the queue is measured by a probe that waits in it. Probes of health are let through.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from types import FrameType
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter
from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.transport.access_log import PROBES
from app.api.transport.problems import problem_of
from app.errors import Busy

STOPPING_RETRY_SECONDS = 5
NOTICE_SHARE, MAX_NOTICE_SECONDS = 0.2, 5.0
"""Of the time to drain, and at most, between the end of readiness and the last connection accepted."""


def notice_seconds(drain_seconds: float) -> float:
    """Return how long connections are still accepted of `drain_seconds`."""
    return min(MAX_NOTICE_SECONDS, drain_seconds * NOTICE_SHARE)


class Shutdown:
    """Whether this process has been told to stop."""

    def __init__(self) -> None:
        self.begun = False

    def handle_signals(self, drain_seconds: float) -> None:
        """Begin with SIGTERM or SIGINT, and pass SIGTERM on to uvicorn when the notice period is over.

        Call it in the lifespan: uvicorn has installed its handlers by then, in the main thread alone.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        # SIGINT comes from a keyboard, and from no balancer that needs a notice.
        delays = {signal.SIGTERM: notice_seconds(drain_seconds), signal.SIGINT: 0.0}
        exits: dict[int, Any] = {number: signal.getsignal(number) for number in delays}

        def begin(number: int, frame: FrameType | None) -> None:
            self.begun = True
            loop.call_soon_threadsafe(exit_later, number, frame)

        def exit_later(number: int, frame: FrameType | None) -> None:
            loop.call_later(delays[signal.Signals(number)], exits[number], number, frame)

        for number in delays:
            signal.signal(number, begin)


class ShutdownMiddleware:
    """ASGI middleware: `/ready` and requests that the shutdown cancels get 503 with Retry-After."""

    def __init__(self, app: ASGIApp, shutdown: Shutdown) -> None:
        self.app = app
        self.shutdown = shutdown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def track(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        if not (self.shutdown.begun and scope["path"] == "/ready"):
            try:
                await self.app(scope, receive, track)
                return
            except asyncio.CancelledError:
                if started or not self.shutdown.begun:
                    raise
        stopping = Busy("The service is stopping.", seconds=STOPPING_RETRY_SECONDS)
        response = problem_of(Request(scope), stopping)
        response.headers["connection"] = "close"
        await response(scope, receive, send)


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
