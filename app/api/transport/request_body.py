"""Request body middleware: limits for slow clients, a hash for idempotency, a bounded drain after an early answer.

A sender that brings nothing for a while, or a few bytes now and then, holds a connection, and an
upload a thread. So every `PACE_BYTES` must come within so many seconds of waiting; time in which
nobody here was reading does not count.

Many senders, urllib among them, look for the answer only when they have sent everything. Were the
connection closed on them they would never see a refusal. So the answer is sent at once, for those
who look, and then what is left of the body is read and dropped, up to a limit, before the
connection is closed.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

import anyio
from fastapi import Request
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import RequestTimeout, TooLarge

PACE_BYTES = 2**14
"""What must come in the time given, unless the body ends."""

LEFT_BYTES, LEFT_SECONDS = 64 * 2**20, 30.0
"""What is read of a body after its answer, and how long that may take."""

READER_TIMEOUTS = 4
"""Timeout for a client to read a part of an answer, as a multiple of the timeout for sending."""

Update = Callable[[bytes], None]


class IncomingBody:
    """Receive channel of one request: times, counts and hashes its body."""

    def __init__(self, scope: Scope, receive: Receive, seconds: float) -> None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        self.ended = length in ("", "0") and "transfer-encoding" not in headers
        self.awaits_permission = headers.get("expect", "").lower() == "100-continue"
        self.count = 0
        self.closed = False
        self._receive = receive
        self._seconds = seconds
        self._seconds_left = seconds
        self._pace_bytes = 0
        self._update: Update | None = None
        self._when_answered: list[Callable[[], None]] = []
        # A receipt may be looked for while the body is spooled: one takes from the wire.
        self._turn = anyio.Lock()

    async def receive(self) -> Message:
        """The next message of ASGI; RequestTimeout when it does not come in time."""
        if not self.ended:
            async with self._turn:
                if not self.ended:
                    return await self._next()
        return await self._receive()

    def when_answered(self, call: Callable[[], None]) -> None:
        """Call a function as soon as the answer begins."""
        self._when_answered.append(call)

    def answered(self) -> None:
        """An answer begins."""
        while self._when_answered:
            self._when_answered.pop()()

    def hash_into(self, update: Update) -> None:
        """Hash the whole body; call it before the body is read."""
        if self.count:
            raise ValueError("a part of the body was read unhashed")
        self._update = update

    async def rest(self, limit: int) -> None:
        """Read the body to its end, for its hash; TooLarge beyond `limit` bytes in all."""
        async with self._turn:
            while not self.ended:
                await self._next()
                if self.count > limit:
                    raise TooLarge(f"The body is larger than {limit} bytes", limit_bytes=limit)
        if self.closed:
            raise ClientDisconnect

    async def let_go(self) -> None:
        """Read and drop what is left, as far as that is bearable."""
        if self.awaits_permission and not self.count:
            return  # it waits to be told to send, and was told something else
        most = self.count + LEFT_BYTES
        with anyio.move_on_after(LEFT_SECONDS):
            async with self._turn:
                while not self.ended and self.count < most:
                    self._noted(await self._receive())

    async def has_left(self) -> bool:
        """Return whether the principal has gone; nobody looks before the body is complete."""
        if self.ended and not self.closed:
            with anyio.CancelScope() as at_once:
                at_once.cancel()
                self._noted(await self._receive())
        return self.closed

    async def _next(self) -> Message:
        began = time.monotonic()
        try:
            with anyio.fail_after(max(self._seconds_left, 0.0)):
                message = await self._receive()
        except TimeoutError:
            raise RequestTimeout(
                f"Less than {PACE_BYTES} bytes of the body came in {self._seconds:g} seconds.",
                limit_bytes=PACE_BYTES,
                limit_seconds=self._seconds,
            ) from None
        self._seconds_left -= time.monotonic() - began
        self._pace_bytes += self._noted(message)
        if self._pace_bytes >= PACE_BYTES:
            self._seconds_left, self._pace_bytes = self._seconds, 0
        return message

    def _noted(self, message: Message) -> int:
        """Count and hash a message's bytes; see whether it is the last."""
        if message["type"] != "http.request":
            self.ended = self.closed = True
            return 0
        body = message.get("body", b"")
        self.count += len(body)
        if self._update is not None:
            self._update(body)
        self.ended = not message.get("more_body", False)
        return len(body)


class SlowClientMiddleware:
    """ASGI middleware: bodies that come in time, answers that are seen by who still sends, and
    readers that take nothing for long left alone."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app = app
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        incoming = IncomingBody(scope, receive, self.seconds)
        scope.setdefault("state", {})["incoming_body"] = incoming
        early = False

        async def drain_after_answer(message: Message) -> None:
            nonlocal early
            if message["type"] == "http.response.start":
                incoming.answered()
                if not incoming.ended:
                    early = True
                    # What is left of the body could not be told from the next request.
                    message["headers"] = [*message["headers"], (b"connection", b"close")]
            last = message["type"] == "http.response.body" and not message.get("more_body", False)
            if early and last and not incoming.ended:
                await send({**message, "more_body": True})
                await incoming.let_go()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            try:
                with anyio.fail_after(READER_TIMEOUTS * self.seconds):
                    await send(message)
            except TimeoutError:
                # What it does not take lies in memory that others wait for.
                raise ClientDisconnect from None

        await self.app(scope, incoming.receive, drain_after_answer)


def incoming_body_of(request: Request) -> IncomingBody:
    """The body of a request."""
    incoming: IncomingBody = request.scope["state"]["incoming_body"]
    return incoming


class Fingerprint:
    """Keyed BLAKE2b of a request: method, address, query and the whole body.

    The boundary between the parts of a form is left out: clients invent a new one each time.
    """

    def __init__(self, request: Request, key: bytes) -> None:
        self._hash = hashlib.blake2b(key=key, digest_size=32)
        for text in (request.method, request.url.path, request.url.query):
            self._hash.update(text.encode() + b"\0")
        self._boundary = _boundary(request.headers.get("content-type", ""))
        self._held = b""

    def update(self, data: bytes) -> None:
        """More of the body."""
        if not self._boundary:
            self._hash.update(data)
            return
        data = (self._held + data).replace(self._boundary, b"")
        kept = len(self._boundary) - 1  # perhaps the beginning of a boundary
        self._hash.update(data[: max(0, len(data) - kept)])
        self._held = data[max(0, len(data) - kept) :]

    def hexdigest(self) -> str:
        """The hash of all that came; nothing comes after it was asked for."""
        self._hash.update(self._held)
        self._held = b""
        return self._hash.hexdigest()


def _boundary(content_type: str) -> bytes:
    if not content_type.lower().startswith("multipart/"):
        return b""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.strip().partition("=")
        if name.lower() == "boundary":
            return value.strip().strip('"').encode("latin-1")
    return b""
