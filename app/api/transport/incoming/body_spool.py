"""Spool of request bodies: encrypted on disk until complete; only then a request takes a slot.

A body that trickles in holds a connection and what came of it, and neither a thread nor a slot. Its beginning is in
memory; what is longer lies in a file without a name, encrypted under a key that only this process has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Request

from app.api.transport.dependencies import get_resources, replay_of
from app.errors import QuotaExceeded, TooLarge
from app.tables.bodies.spool import Spool
from app.tables.bodies.streams import ByteStream

PIECE_BYTES = 2**18
"""What is held of a body in memory: with a thousand connections 256 MiB."""

WRITING_THREADS = 4
"""Of their own: pieces do not stand in the queue of requests that wait for a thread."""

COME_AGAIN_SECONDS = 10


class SpoolQuota:
    """The bytes of bodies that are set aside, in one event loop.

    A principal may hold as much as is still free (Choudhury and Hahne's dynamic threshold). So k principals who
    take all they can have 1/(k+1) each, and as much is left for who comes next.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: Counter[str] = Counter()
        self.writers = CapacityLimiter(WRITING_THREADS)

    @property
    def held(self) -> int:
        """The bytes of all principals."""
        return self._held.total()

    def require(self, principal: str, count: int) -> None:
        """Reserve bytes for a principal; QuotaExceeded beyond its share."""
        free = self._limit - self.held
        if self._held[principal] + count > free:
            raise QuotaExceeded(
                "The requests that you are sending hold too many bytes; send them one after the other.",
                limit_bytes=max(0, free),
                seconds=COME_AGAIN_SECONDS,
            )

    def reserve(self, principal: str, count: int) -> None:
        """Count bytes that came; QuotaExceeded where the principal may not hold them."""
        self.require(principal, count)
        self._held[principal] += count

    def release(self, principal: str, count: int) -> None:
        """Count bytes that are held no more."""
        self._held[principal] -= count
        if not self._held[principal]:
            del self._held[principal]


class SpooledBody:
    """The bytes of a body: written in the event loop as they come, then read anywhere."""

    def __init__(self, folder: Path, writers: CapacityLimiter) -> None:
        self._folder = folder
        self._writers = writers
        self._held = bytearray()
        self._file: Spool | None = None
        self._reader: ByteStream = BytesIO()
        self.count = 0

    async def append(self, data: bytes) -> None:
        """Take more of the body."""
        self.count += len(data)
        self._held += data
        if len(self._held) >= PIECE_BYTES:
            await self._write()

    async def complete(self) -> None:
        """Rewind the complete body for reading."""
        if self._file is None:
            self._reader = BytesIO(self._held)
            return
        await self._write()
        self._reader = self._file

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, none at the end."""
        return self._reader.read(size)

    def close(self) -> None:
        """Discard the bytes."""
        if self._file is not None:
            self._file.close()

    async def _write(self) -> None:
        data = bytes(self._held)
        self._held.clear()
        await run_sync(self._write_piece, data, limiter=self._writers)

    def _write_piece(self, data: bytes) -> None:
        if self._file is None:
            self._file = Spool(BytesIO(), self._folder)
        self._file.append(data)


@asynccontextmanager
async def received_body(request: Request, limit: int) -> AsyncIterator[ByteStream]:
    """The whole body of a request whose principal is known; a job's was received before.

    TooLarge and QuotaExceeded at once where the length that is announced is too much, and else when it came.
    """
    if (replay := replay_of(request)) is not None:
        yield replay.body
        return
    quota: SpoolQuota = request.app.state.spool_quota
    principal = request.state.context.principal.id
    announced = request.headers.get("content-length", "")
    if announced.isdecimal():
        _refuse_larger(int(announced), limit)
        quota.require(principal, int(announced))
    body = SpooledBody(get_resources(request).spool_dir, quota.writers)
    try:
        async for chunk in request.stream():
            _refuse_larger(body.count + len(chunk), limit)
            quota.reserve(principal, len(chunk))
            await body.append(chunk)
        await body.complete()
        yield body
    finally:
        quota.release(principal, body.count)
        body.close()


def _refuse_larger(count: int, limit: int) -> None:
    if count > limit:
        raise TooLarge(f"The body is larger than {limit} bytes", limit_bytes=limit)
