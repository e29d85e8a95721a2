"""A request's body as a file that blocks, for routes that are plain functions in a thread."""

from __future__ import annotations

from anyio import from_thread
from anyio.lowlevel import EventLoopToken, current_token
from fastapi import Request

from app.errors import TooLarge


class RequestBody:
    """Reads the body as it arrives and never holds more than was asked for.

    Any thread may read, also one of Arrow's: the token says which event loop has the body. The
    server stops reading from the socket when nobody asks, so a fast sender is held back.
    """

    def __init__(self, request: Request, token: EventLoopToken, limit: int) -> None:
        self._chunks = request.stream().__aiter__()
        self._token = token
        self._limit = limit
        self._rest = memoryview(b"")
        self._ended = False
        self.count = 0

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, fewer only at the end; TooLarge beyond the limit."""
        parts: list[memoryview] = []
        wanted = size
        while wanted and (self._rest or not self._ended):
            if not self._rest:
                from_thread.run(self._receive, wanted, token=self._token)
            part, self._rest = self._rest[:wanted], self._rest[wanted:]
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)

    async def _receive(self, wanted: int) -> None:
        """Take chunks off the wire until there are `wanted` bytes: one change of thread, not many."""
        chunks: list[bytes] = []
        while wanted > 0 and not self._ended:
            try:
                chunk = await anext(self._chunks)
            except StopAsyncIteration:
                self._ended = True
                break
            self.count += len(chunk)
            if self.count > self._limit:
                raise _too_large(self._limit)
            chunks.append(chunk)
            wanted -= len(chunk)
        self._rest = memoryview(b"".join(chunks))


async def request_body(request: Request, limit: int) -> RequestBody:
    """The body of `request`; awaited in the event loop, read elsewhere.

    TooLarge at once when the caller announces more than `limit` bytes, and later when it sends more.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise _too_large(limit)
    return RequestBody(request, current_token(), limit)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit} bytes", limit_bytes=limit)
