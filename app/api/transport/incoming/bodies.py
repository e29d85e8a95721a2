"""Request bodies: spooled until complete, a fair semaphore of slots, JSON parsed in a thread.

A body that trickles in holds a connection and what came of it, and neither a thread nor a slot. Its beginning is in
memory; what is longer lies in a file without a name, encrypted under a key that only this process has.

FastAPI parses and checks a JSON body in the event loop, where 16 MB of brackets keep every other request waiting for
seconds. Here both are done before it, in a thread, once it is known what the body unpacks to; FastAPI finds the checked
value in its place and has nothing left to do.

A semaphore whose slots principals share: so many at once, one of them no more than its part, nobody waits for long.

A free slot goes to the waiting principal that holds the fewest, among equals to the one that has waited longest.
So one with many requests keeps its own waiting and not everybody.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import anyio
import orjson
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool

from app.api.transport.dependencies import get_resources, replay_of
from app.api.transport.forms import DataForm
from app.errors import Busy, QuotaExceeded, TooLarge, UnsupportedMediaType
from app.tables.bodies.json_size import json_size
from app.tables.bodies.spool import Spool
from app.tables.bodies.streams import ByteStream

WAITING_SECONDS = 60.0
"""Longest wait for a slot in seconds; then 503."""

COME_AGAIN_SECONDS = 10


class FairSemaphore:
    """Slots in one event loop."""

    def __init__(
        self, slots: int, per_principal: int, waiting_seconds: float = WAITING_SECONDS
    ) -> None:
        self._slots = slots
        self._per_principal = per_principal
        self._waiting_seconds = waiting_seconds
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[anyio.Event]] = OrderedDict()

    @asynccontextmanager
    async def acquire(self, principal: str) -> AsyncIterator[Callable[[], None]]:
        """Wait for a slot and hold it until the end of the block, or until what is yielded is called.

        Busy when that takes too long.
        """
        granted = anyio.Event()
        self._waiting.setdefault(principal, deque()).append(granted)
        self._grant()
        is_over = False

        def release() -> None:
            nonlocal is_over
            if is_over:
                return
            is_over = True
            if granted.is_set():
                self._held[principal] -= 1
                if not self._held[principal]:
                    del self._held[principal]
            else:
                self._leave(principal, granted)
            self._grant()

        try:
            with anyio.move_on_after(self._waiting_seconds):
                await granted.wait()
            if not granted.is_set():
                raise Busy(
                    f"All slots for uploads were taken for {self._waiting_seconds:g} seconds.",
                    seconds=COME_AGAIN_SECONDS,
                )
            yield release
        finally:
            release()

    def _grant(self) -> None:
        """Give the free slots away."""
        while self._held.total() < self._slots:
            least = min(
                (p for p in self._waiting if self._held[p] < self._per_principal),
                key=lambda principal: self._held[principal],
                default=None,
            )
            if least is None:
                return
            granted = self._waiting[least][0]
            self._leave(least, granted)
            self._held[least] += 1
            granted.set()

    def _leave(self, principal: str, granted: anyio.Event) -> None:
        queue = self._waiting[principal]
        queue.remove(granted)
        if not queue:
            del self._waiting[principal]
        else:
            self._waiting.move_to_end(principal)  # among equals, those who waited longest go first


PIECE_BYTES = 2**18
"""What is held of a body in memory: with a thousand connections 256 MiB."""

WRITING_THREADS = 4
"""Of their own: pieces do not stand in the queue of requests that wait for a thread."""


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


JSON_BYTES, JSON_CONTAINERS, JSON_COMMAS = 2**20, 10_000, 20_000
"""A form: its length, and how many lists and objects, and commas between their parts, it may have."""

DATA_BYTES, DATA_CONTAINERS, DATA_COMMAS = 16 * 2**20, 200_000, 4_100_000
"""The same of a form that carries data, a column or two of them."""


class BodyField(Protocol):
    """FastAPI's field of a body."""

    @property
    def field_info(self) -> Any: ...

    def validate(
        self, value: Any, values: dict[str, Any], *, loc: tuple[int | str, ...]
    ) -> tuple[Any, list[dict[str, Any]]]: ...


async def read_json(request: Request, field: BodyField) -> None:
    """Read the body into the request and, if it is JSON, leave there what it says, checked."""
    kind = field.field_info.annotation
    carries_data = isinstance(kind, type) and issubclass(kind, DataForm)
    most = DATA_BYTES if carries_data else JSON_BYTES
    async with received_body(request, most) as spooled:
        body = await run_in_threadpool(spooled.read, most)
    request._body = body
    if not body:
        return
    if not _is_json(request):
        raise UnsupportedMediaType(
            "The body here is JSON; say so by `Content-Type: application/json`"
        )
    request._json = await run_in_threadpool(_checked, body, field, carries_data)


def _checked(body: bytes, field: BodyField, carries_data: bool) -> Any:
    containers, commas = (
        (DATA_CONTAINERS, DATA_COMMAS) if carries_data else (JSON_CONTAINERS, JSON_COMMAS)
    )
    found = json_size(body)
    if found.containers > containers or found.commas > commas:
        raise TooLarge(
            f"A JSON body may have {containers} lists and objects, and {commas} commas",
            limit_containers=containers,
            limit_commas=commas,
        )
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestValidationError(
            [{"type": "json_invalid", "loc": ("body",), "msg": f"no JSON at character {error.pos}"}]
        ) from None
    value, errors = field.validate(said, {}, loc=("body",))
    if errors:
        raise RequestValidationError(errors, body=said)
    return value


def _is_json(request: Request) -> bool:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/json" or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )
