"""Connection limits that uvicorn lacks: size and time of headers, idle time, number of connections.

uvicorn reads a head of any size and waits for it for ever (`h11_max_incomplete_event_size` is h11's alone). Its
`limit_concurrency` counts idle connections and refuses probes too, by plain text without Retry-After. Here the
connection that has been idle longest makes room for a new one; a new one gets 503 only when all are at work.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from http import HTTPStatus
from math import inf
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from app.api.transport.problems import PROBLEM_TYPE, TRANSPORT
from app.errors import Busy

MAX_HEAD_BYTES = 64 * 2**10
"""Of the request line and all headers; also of what frames a body between two of its parts."""

MAX_HEAD_SECONDS = 20.0
"""From a connection, or the first byte of a request, to the end of its head."""

LINGER_SECONDS = 2.0
"""How long a rejected connection is kept, so that its sender receives the response."""

RETRY_SECONDS = 5

log = logging.getLogger("cornerwave.connections")


class LimitedProtocol(HttpToolsProtocol):
    """One HTTP connection; uvicorn's `limit_concurrency` is the number of connections of the process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._max_connections, self.limit_concurrency = self.limit_concurrency, None
        self.idle_since = time.monotonic()
        self._head_timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._framing_bytes = 0  # since a head ended or a part of a body came
        self._rejected = False

    @property
    def is_idle(self) -> bool:
        """Whether no response is under way."""
        cycle: RequestResponseCycle | None = self.cycle  # none before the first request
        return cycle is None or bool(cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_head_timer()
        if (
            len(self.connections) > (self._max_connections or inf)
            and not self._close_longest_idle()
        ):
            self._reject(503)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._rejected:
            return
        self._framing_bytes += len(data)
        if self._in_head and self._head_timer is None:
            self._start_head_timer()
        super().data_received(data)
        if self._framing_bytes > MAX_HEAD_BYTES and not self._rejected:
            if self._in_head:
                self._reject(431)
            elif not self.is_idle:
                self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        if self._head_timer is None:
            self._start_head_timer()

    def on_headers_complete(self) -> None:
        self._cancel_head_timer()
        self._in_head = False
        taken = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if taken > MAX_HEAD_BYTES:
            self._reject(431)
            return
        self._framing_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._framing_bytes = 0
        if not self._rejected:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._framing_bytes = 0
        if not self._rejected:
            super().on_message_complete()
            self._in_head = True

    def on_response_complete(self) -> None:
        self.idle_since = time.monotonic()
        super().on_response_complete()

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(MAX_HEAD_SECONDS, self._on_head_timeout)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_head_timeout(self) -> None:
        self._head_timer = None
        # The head of a second request may come while the first is answered.
        if self.is_idle and not self.transport.is_closing():
            self.transport.close()

    def _close_longest_idle(self) -> bool:
        """Close the connection that has been idle longest; False if there is none."""
        idle = [
            other
            for other in self.connections
            if isinstance(other, LimitedProtocol)
            and other is not self
            and other.is_idle
            and not other.transport.is_closing()
        ]
        if not idle:
            return False
        min(idle, key=lambda other: other.idle_since).transport.close()
        return True

    def _reject(self, status: int) -> None:
        self._rejected = True
        self._cancel_head_timer()
        request_id = secrets.token_hex(12)
        log.warning("connection rejected", extra={"status": status, "request_id": request_id})
        self.transport.write(_rejection(status, request_id))
        # A close with unread bytes resets the connection, which may cost the sender the response.
        self.loop.call_later(LINGER_SECONDS, self.transport.close)


def _rejection(status: int, request_id: str) -> bytes:
    if status == 431:
        slug, title, remedy = TRANSPORT[431]
        detail = f"The request line and the headers have more than {MAX_HEAD_BYTES} bytes. {remedy}"
    else:
        slug, title = Busy.slug, Busy.title
        detail = "All connections of the service are at work."
    problem = {
        "type": f"/problems/{slug}",
        "title": title,
        "status": status,
        "detail": detail,
        "request_id": request_id,
    }
    body = orjson.dumps(problem)
    head = [
        b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode()),
        b"content-type: " + PROBLEM_TYPE.encode(),
        b"content-length: %d" % len(body),
        b"x-request-id: " + request_id.encode(),
        b"connection: close",
    ]
    if status == 503:
        head.append(b"retry-after: %d" % RETRY_SECONDS)
    return b"\r\n".join(head) + b"\r\n\r\n" + body
