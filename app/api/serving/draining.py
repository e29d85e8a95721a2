"""Stopping without a word is rude: what happens between SIGTERM and the end of the process.

First `/ready` says no, while requests are still taken, so that whoever sends them here learns of it.
Then no more connections are taken and what is under way is finished. When the time is over, those
who still wait for an answer are told to come again; an answer that has begun is cut off, so that
nobody takes its beginning for the whole.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from dataclasses import dataclass
from types import FrameType

import orjson
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.transport.problems import PROBLEM_TYPE
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
        """Send a message of the answer, unless the caller was told something else."""
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
        self.under_way: set[UnderWay] = set()

    async def tell_the_rest(self) -> None:
        """Tell all who still wait for the beginning of an answer."""
        for request in list(self.under_way):
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
        self.draining.under_way.add(request)
        try:
            await self.app(scope, receive, request.pass_on)
        finally:
            self.draining.under_way.discard(request)


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
        while self._draining.under_way and loop.time() < ends and not self.force_exit:
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
