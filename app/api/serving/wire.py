"""The HTTP protocol with bounds where uvicorn has none: heads, idle connections, connections in all.

uvicorn takes a head of any length and waits for it for ever, so that some megabytes of headers, or a
thousand sockets that say nothing, cost the service more than those who send them. Here a head has a
length and a time. When there are as many connections as there may be, the one that has been idle
longest makes room for a new one; only when all of them are at work is a new one turned away.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from typing import Any, ClassVar

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from app.api.transport.problems import PROBLEM_TYPE, TRANSPORT
from app.errors import Busy

HEAD_BYTES = 64 * 2**10
"""Of the request line and all headers; also of what frames a body between two of its parts."""

HEAD_SECONDS = 20.0
"""From a connection, or the first byte of a request, to the end of its head."""

PARTING_SECONDS = 2.0
"""How long a connection that was turned away is kept, so that its sender sees why."""

RETRY_SECONDS = 5
PHRASES = {431: b"Request Header Fields Too Large", 503: b"Service Unavailable"}

log = logging.getLogger("cornerwave.connections")


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Take a class from `bounded`, which says how many there may be."""

    most_connections: ClassVar[int]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.idle_since = time.monotonic()
        self._head_timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._unmarked = 0  # bytes since a head ended or a part of a body came
        self._turned_away = False

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered here."""
        cycle: RequestResponseCycle | None = self.cycle  # none before the first request
        return cycle is None or bool(cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > self.most_connections and not self._made_room():
            self._turn_away(503)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._turned_away:
            return
        self._unmarked += len(data)
        if self._in_head and self._head_timer is None:
            self._expect_head()
        super().data_received(data)
        if self._unmarked > HEAD_BYTES and not self._turned_away:
            if self._in_head:
                self._turn_away(431)
            elif not self.is_idle:
                self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        if self._head_timer is None:
            self._expect_head()

    def on_headers_complete(self) -> None:
        self._expect_nothing()
        self._in_head = False
        taken = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if taken > HEAD_BYTES:
            self._turn_away(431)
            return
        self._unmarked = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unmarked = 0
        if not self._turned_away:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._unmarked = 0
        if not self._turned_away:
            super().on_message_complete()
            self._in_head = True

    def on_response_complete(self) -> None:
        self.idle_since = time.monotonic()
        super().on_response_complete()

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_is_late)

    def _expect_nothing(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        # The head of a second request may come while the first is answered.
        if self.is_idle and not self.transport.is_closing():
            self.transport.close()

    def _made_room(self) -> bool:
        """Close the connection that has been idle longest, if there is one."""
        idle = [
            other
            for other in self.connections
            if isinstance(other, BoundedProtocol)
            and other is not self
            and other.is_idle
            and not other.transport.is_closing()
        ]
        if not idle:
            return False
        min(idle, key=lambda other: other.idle_since).transport.close()
        return True

    def _turn_away(self, status: int) -> None:
        self._turned_away = True
        self._expect_nothing()
        request_id = secrets.token_hex(12)
        log.warning("turned away", extra={"status": status, "request_id": request_id})
        self.transport.write(_refusal(status, request_id))
        # Closed with bytes unread, the sender might not see the answer: they are dropped for a while.
        self.loop.call_later(PARTING_SECONDS, self.transport.close)


def bounded(most_connections: int) -> type[BoundedProtocol]:
    """The protocol of a server that has so many connections at once."""
    return type("Bounded", (BoundedProtocol,), {"most_connections": most_connections})


def _refusal(status: int, request_id: str) -> bytes:
    if status == 431:
        slug, title, remedy = TRANSPORT[431]
        detail = f"The request line and the headers may have {HEAD_BYTES} bytes. {remedy}"
    else:
        slug, title = Busy.slug, Busy.title
        detail = "There are as many connections as there may be, and all are at work."
    problem = {
        "type": f"/problems/{slug}",
        "title": title,
        "status": status,
        "detail": detail,
        "request_id": request_id,
    }
    body = orjson.dumps(problem)
    head = [
        b"HTTP/1.1 %d %s" % (status, PHRASES[status]),
        b"content-type: " + PROBLEM_TYPE.encode(),
        b"content-length: %d" % len(body),
        b"x-request-id: " + request_id.encode(),
        b"connection: close",
    ]
    if status == 503:
        head.append(b"retry-after: %d" % RETRY_SECONDS)
    return b"\r\n".join(head) + b"\r\n\r\n" + body
