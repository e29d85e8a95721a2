"""Graceful shutdown: withdraw readiness, finish requests in progress, answer new ones with 503.

uvicorn stops accepting, waits `timeout_graceful_shutdown` for responses and cancels the rest. Added here: a notice
period before it, and 503 with Retry-After for a cancelled request whose response has not started. A response that
has started is cut off, so that no client takes its beginning for the whole.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from types import FrameType
from typing import Any

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.transport.problems import problem_of
from app.errors import Busy

RETRY_SECONDS = 5
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
        stopping = Busy("The service is stopping.", seconds=RETRY_SECONDS)
        response = problem_of(Request(scope), stopping)
        response.headers["connection"] = "close"
        await response(scope, receive, send)
