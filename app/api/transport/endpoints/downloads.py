"""Streamed downloads with ETag and range requests, so that a download can be resumed.

Every few megabytes it is asked whether a download may go on; when it may not, the connection is cut,
so that the part that has left cannot be taken for the whole.

A range may count from the end, and the total is part of the answer, so all bytes are written to a
nameless file first. A client that requests one range requests more: the file is cached, under the
ETag that stands for its bytes.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import unicodedata
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from anyio import CancelScope, CapacityLimiter, to_thread
from fastapi import Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.api.transport.problems import TRANSPORT, problem_response
from app.errors import PreconditionFailed
from app.tables.media import MediaType
from app.tables.writer import CHUNK_BYTES

if TYPE_CHECKING:
    from app.store.caches.block_cache import HotBlocks

RANGED = (MediaType.CSV, MediaType.PARQUET)
EXTENSION = {
    MediaType.CSV: "csv",
    MediaType.PARQUET: "parquet",
    MediaType.ARROW: "arrows",
    MediaType.JSON: "json",
    MediaType.XLSX: "xlsx",
}
CHECKED_BYTES = 8 * 2**20
"""How much may leave until the right to it is asked for again."""

UNSAFE = re.compile(r"[^\w.-]+")
LONGEST_STEM = 200
"""In bytes: file systems take 255 for a name."""

CHUNKS_AT_ONCE = 4
"""Chunks made for each change of thread, which costs as much as sending one of them. A reader that
takes nothing has twice as many waiting."""

KEPT_BYTES, MOST_KEPT = 2**30, 64
"""Of files kept for the next range, and how many; they have no names and end with the process."""

ONE_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})|bytes=-(\d{1,18})")


class CsvCells(StrEnum):
    """Texts in CSV: unchanged, or protected against CSV injection."""

    PLAIN = "plain"
    SAFE = "safe"


def csv_cells(request: Request, chosen: CsvCells | None) -> CsvCells:
    """Return the chosen form; else safe for a browser, whose user is likely to open the file in a spreadsheet."""
    if chosen is not None:
        return chosen
    headers = request.headers
    browser = "sec-fetch-mode" in headers or "text/html" in headers.get("accept", "")
    return CsvCells.SAFE if browser else CsvCells.PLAIN


def entity_tag(fingerprint: str, media_type: MediaType, cells: CsvCells = CsvCells.PLAIN) -> str:
    """A strong ETag: the same exactly when the bytes are."""
    safe = "-safe" if media_type is MediaType.CSV and cells is CsvCells.SAFE else ""
    return f'"{fingerprint}{safe}-{EXTENSION[media_type]}"'


def is_unchanged(request: Request, etag: str) -> bool:
    """Return whether the principal has these bytes already (If-None-Match).

    PreconditionFailed where it wants others alone (If-Match).
    """
    wanted = request.headers.get("if-match", "*").strip()
    if wanted != "*" and etag not in {tag.strip() for tag in wanted.split(",")}:
        raise PreconditionFailed("these are not the bytes that If-Match names any more")
    known = request.headers.get("if-none-match", "")
    return known.strip() == "*" or etag in {
        tag.strip().removeprefix("W/") for tag in known.split(",")
    }


def download_headers(etag: str, media_type: MediaType, name: str) -> dict[str, str]:
    """Return the headers of every answer with rows."""
    return {
        "ETag": etag,
        "Vary": "Accept, Authorization, Sec-Fetch-Mode",
        "Cache-Control": "private, no-cache",
        "Accept-Ranges": "bytes" if media_type in RANGED else "none",
        "Content-Disposition": attachment(name, EXTENSION[media_type]),
    }


def attachment(name: str, extension: str) -> str:
    """`Content-Disposition` of a file that is called so [RFC 6266]: in ASCII, and as it is in UTF-8.

    Letters, digits, dots, dashes and underscores stay; all else, which a shell, a file system or a header could
    take for something, becomes an underscore.
    """
    kept = UNSAFE.sub("_", name).strip("._-").encode()[:LONGEST_STEM].decode(errors="ignore")
    plain = unicodedata.normalize("NFKD", kept).encode("ascii", "ignore").decode().strip("._-")
    return (
        f'attachment; filename="{plain or "copy"}.{extension}"; '
        f"filename*=UTF-8''{quote(kept or 'copy', safe='')}.{extension}"
    )


def watched(
    chunks: Iterator[memoryview], go_on: Callable[[], None]
) -> Generator[memoryview, None, None]:
    """The same chunks; `go_on` is asked before the first and every `CHECKED_BYTES`, and may raise."""
    left = CHECKED_BYTES
    try:
        for chunk in chunks:
            if left >= CHECKED_BYTES:
                go_on()
                left = 0
            left += len(chunk)
            yield chunk
    finally:
        _close(chunks)


def streamed(
    chunks: Iterator[memoryview], media_type: MediaType, headers: dict[str, str], status: int = 200
) -> Response:
    """All the bytes. The first chunks are made here, so that what fails at once is a problem."""
    first = list(islice(chunks, CHUNKS_AT_ONCE))
    # A thread of its own: the wait for memory must not take one that other requests need, nor one
    # that another download needs to give memory back.
    own = CapacityLimiter(1)

    async def body() -> AsyncGenerator[memoryview, None]:
        ready = first
        making: asyncio.Future[list[memoryview]] | None = None
        try:
            while ready:
                # The next chunks are made while these are sent.
                making = asyncio.ensure_future(
                    to_thread.run_sync(lambda: list(islice(chunks, CHUNKS_AT_ONCE)), limiter=own)
                )
                for chunk in ready:
                    yield chunk
                # Shielded: a thread cannot be cancelled, only waited for.
                ready = await asyncio.shield(making)
        finally:
            with CancelScope(shield=True):
                if making is not None:
                    # Waited for, because what is being made cannot be closed; its failure, if it
                    # was not told above, concerns nobody any more.
                    await asyncio.gather(making, return_exceptions=True)
            _close(chunks)

    return ClosedStream(body(), status, headers, media_type.value)


class ClosedStream(StreamingResponse):
    """Closes its body when it ends, however it ends.

    Starlette leaves the body of a client that went away to the garbage collector, and with it the
    threads that make the next blocks.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            assert isinstance(self.body_iterator, AsyncGenerator)
            await self.body_iterator.aclose()


def _close(chunks: Iterator[memoryview]) -> None:
    if (stop := getattr(chunks, "close", None)) is not None:
        stop()


class WrittenFile:
    """All bytes of a download, in a file without a name that ends when nobody holds this."""

    def __init__(self, folder: Path, chunks: Iterator[memoryview]) -> None:
        with tempfile.TemporaryFile(dir=folder) as file:
            for chunk in chunks:
                file.write(chunk)
            self.size = file.tell()
            file.flush()
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)

    @property
    def nbytes(self) -> int:
        """Cost of the file in the cache, which also bounds open files."""
        return max(self.size, KEPT_BYTES // MOST_KEPT)

    def read(self, start: int, count: int) -> bytes:
        """Read bytes from `start` on; thread-safe."""
        return os.pread(self._descriptor, count, start)


class Bytes(Protocol):
    """Bytes that can be read from any place in them."""

    size: int

    def read(self, start: int, count: int) -> bytes: ...


class Ranges:
    """Answers with ranges, from files in a folder."""

    def __init__(self, folder: Path, written: HotBlocks[WrittenFile]) -> None:
        self._folder = folder
        self._written = written

    def answer(
        self,
        request: Request,
        etag: str,
        media_type: MediaType,
        headers: dict[str, str],
        write: Callable[[], Iterator[memoryview]],
        go_on: Callable[[], None],
    ) -> Response:
        """The bytes asked for; `go_on` is asked now and then while they leave, and may raise."""
        written = self._written.get(etag)
        if written is None:
            written = WrittenFile(self._folder, write())
            self._written.put(etag, written, etag)
        return range_of(request, written, media_type, headers, go_on)


def range_of(
    request: Request,
    content: Bytes,
    media_type: MediaType,
    headers: dict[str, str],
    go_on: Callable[[], None],
) -> Response:
    """The range of these bytes that is asked for, or a problem when they have no such range."""
    total = content.size
    first, last = _range(request, total)
    if first >= total or last < first:
        slug, title, _ = TRANSPORT[416]
        return problem_response(
            request,
            416,
            slug,
            title,
            f"The answer has {total} bytes.",
            {"bytes": total},
            {"Content-Range": f"bytes */{total}"},
        )
    headers = headers | {
        "Content-Range": f"bytes {first}-{last}/{total}",
        "Content-Length": str(last - first + 1),
    }
    chunks = watched(pieces_of(content, first, last + 1), go_on)
    return streamed(chunks, media_type, headers, 206)


def wants_range(request: Request, etag: str, media_type: MediaType) -> bool:
    """Return whether one range is asked for, of these very bytes (If-Range), in a format that has them.

    A header that says something else, or nothing sensible, is as good as none.
    """
    asked = _asked(request)
    same = request.headers.get("if-range", etag).strip() == etag
    backwards = asked is not None and asked[2] and int(asked[1]) > int(asked[2])
    return media_type in RANGED and same and asked is not None and not backwards


def _asked(request: Request) -> re.Match[str] | None:
    return ONE_RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))


def _range(request: Request, total: int) -> tuple[int, int]:
    """The first and the last byte asked for [RFC 9110, section 14.1.2]."""
    asked = _asked(request)
    assert asked is not None
    begin, end, from_end = asked.groups()
    if from_end:
        return max(total - int(from_end), 0), total - 1
    return int(begin), min(int(end), total - 1) if end else total - 1


def pieces_of(content: Bytes, first: int, end: int) -> Iterator[memoryview]:
    """The bytes [first, end) in chunks."""
    for start in range(first, end, CHUNK_BYTES):
        yield memoryview(content.read(start, min(CHUNK_BYTES, end - start)))
