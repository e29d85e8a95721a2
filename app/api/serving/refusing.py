"""Requests that are turned away: when the service stops, and when it has more than it can do.

Stopping without a word is rude. First `/ready` says no, while requests are still taken, so that whoever sends them
here learns of it. Then no more connections are taken and what is under way is finished. When the time is over,
those who still wait for an answer are told to come again; an answer that has begun is cut off, so that nobody
takes its beginning for the whole.

Load beyond capacity is answered with 503 at once, before it makes everybody wait. A route works in one of the
process's threads, and a request goes through their queue several times: for its principal, its route, its answer.
When this many wait for a thread, or when the queue takes this long, a further one would wait longer than its
principal: it is told to come back. How long the queue takes is measured by somebody who stands in it for nothing
else. What watches the service is let by.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from dataclasses import dataclass
from types import FrameType

import orjson
import uvicorn
from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter
from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.transport.problems import PROBLEM_TYPE, problem_of
from app.errors import Busy

RETRY_SECONDS = 5
NOTICE_SHARE, LONGEST_NOTICE = 0.2, 5.0
"""Of the time to drain, what passes until no more connections are taken, and seconds at most."""

CUT_SECONDS = 2
"""How long uvicorn waits for what was told or must be cut off."""


@dataclass(eq=False)
class UnderWay:
    """A request that is being answered."""

    scope: Scope
    send: Send
    started: bool = False
    told: bool = False

    async def pass_on(self, message: Message) -> None:
        """Send a message of the answer, unless the principal was told something else."""
        if not self.told:
            self.started = True
            await self.send(message)

    async def tell(self) -> None:
        """Tell who waits for an answer to come again."""
        if not self.started:
            self.told = True
            await answer_busy(self.scope, self.send, "The service is stopping.")


class Draining:
    """What one app has under way, and whether it is about to stop."""

    def __init__(self) -> None:
        self.begun = False
        self.uow: set[UnderWay] = set()

    async def tell_the_rest(self) -> None:
        """Tell all who still wait for the beginning of an answer."""
        for request in list(self.uow):
            await request.tell()


class Drained:
    """ASGI middleware that keeps the book, and takes readiness back first."""

    def __init__(self, app: ASGIApp, draining: Draining) -> None:
        self.app = app
        self.draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.draining.begun and scope["path"] == "/ready":
            await answer_busy(scope, send, "The service is stopping.")
            return
        request = UnderWay(scope, send)
        self.draining.uow.add(request)
        try:
            await self.app(scope, receive, request.pass_on)
        finally:
            self.draining.uow.discard(request)


class DrainingServer(uvicorn.Server):
    """uvicorn, which drains before it stops."""

    def __init__(self, config: uvicorn.Config, draining: Draining, seconds: float) -> None:
        config.timeout_graceful_shutdown = CUT_SECONDS
        super().__init__(config)
        self._draining = draining
        self._seconds = seconds
        self._in_a_hurry = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal to stop: readiness goes first."""
        self._draining.begun = True
        self._in_a_hurry = sig == signal.SIGINT  # somebody at a keyboard
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then stop."""
        self._draining.begun = True
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._seconds
        if not self._in_a_hurry:
            notice = min(LONGEST_NOTICE, self._seconds * NOTICE_SHARE)
            await self._wait(loop.time() + notice)
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self._draining.uow and loop.time() < ends and not self.force_exit:
            await asyncio.sleep(0.05)
        await self._draining.tell_the_rest()
        await super().shutdown(sockets)

    async def _wait(self, until: float) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < until and not (self.force_exit or self._in_a_hurry):
            await asyncio.sleep(0.05)


async def answer_busy(scope: Scope, send: Send, detail: str) -> None:
    """A problem that says to come again."""
    body = orjson.dumps(
        {
            "type": f"/problems/{Busy.slug}",
            "title": Busy.title,
            "status": 503,
            "detail": detail,
            "request_id": scope.get("state", {}).get("request_id", "-"),
            "seconds": RETRY_SECONDS,
        }
    )
    headers = [
        (b"content-type", PROBLEM_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", str(RETRY_SECONDS).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


WAITING = 80
"""Requests that may wait for a thread: twice as many as there are threads."""

QUEUE_SECONDS = 0.5
"""How long one may wait for a thread, before others are told to come back."""

WATCHING = ("/health", "/ready", "/metrics")
OVERLOADED_SECONDS = 2


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
            seconds=OVERLOADED_SECONDS,
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
