"""A table as a download: streamed, with an ETag, in one range of bytes where that is asked for.

What is streamed is asked at each block whether it may go on; when it may not, the connection is cut,
so that the part that has left cannot be taken for the whole.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator, Iterator
from itertools import islice
from pathlib import Path
from typing import IO

from anyio import CancelScope
from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.api.problems import problem_response
from app.api.tables.media import MediaType
from app.api.tables.writing import CHUNK_BYTES

RANGED = (MediaType.CSV, MediaType.PARQUET)
EXTENSION = {
    MediaType.CSV: "csv",
    MediaType.PARQUET: "parquet",
    MediaType.ARROW: "arrows",
    MediaType.JSON: "json",
}
CHUNKS_AT_ONCE = 8
"""Chunks made for each change of thread, which costs as much as sending one of them."""

ONE_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def entity_tag(fingerprint: str, media_type: MediaType) -> str:
    """A strong ETag: the same exactly when the bytes are."""
    return f'"{fingerprint}-{EXTENSION[media_type]}"'


def is_unchanged(request: Request, etag: str) -> bool:
    """Whether the caller has these bytes already (If-None-Match)."""
    known = request.headers.get("if-none-match", "")
    return known.strip() == "*" or etag in {
        tag.strip().removeprefix("W/") for tag in known.split(",")
    }


def download_headers(etag: str, media_type: MediaType, name: str) -> dict[str, str]:
    """What every answer with rows says of itself."""
    return {
        "ETag": etag,
        "Vary": "Accept, Authorization",
        "Cache-Control": "private, no-cache",
        "Accept-Ranges": "bytes" if media_type in RANGED else "none",
        "Content-Disposition": f'attachment; filename="{name}.{EXTENSION[media_type]}"',
    }


def wants_range(request: Request, etag: str, media_type: MediaType) -> bool:
    """Whether one range is asked for, of these very bytes (If-Range), in a format that has them."""
    asked = ONE_RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    same = request.headers.get("if-range", etag).strip() == etag
    return media_type in RANGED and same and asked is not None and asked.group(0) != "bytes=-"


def streamed(
    chunks: Iterator[memoryview], media_type: MediaType, headers: dict[str, str]
) -> Response:
    """All the bytes. The first chunks are made here, so that what fails at once is a problem."""
    first = list(islice(chunks, CHUNKS_AT_ONCE))

    async def body() -> AsyncGenerator[memoryview, None]:
        ready = first
        making: asyncio.Future[list[memoryview]] | None = None
        try:
            while ready:
                # The next chunks are made while these are sent.
                making = asyncio.ensure_future(
                    run_in_threadpool(lambda: list(islice(chunks, CHUNKS_AT_ONCE)))
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

    return ClosedStream(body(), media_type=media_type.value, headers=headers)


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


def ranged(
    request: Request,
    chunks: Iterator[memoryview],
    media_type: MediaType,
    headers: dict[str, str],
    spool_dir: Path,
) -> Response:
    """The bytes asked for. All of them are written to a nameless file first: a range may count
    from the end, and the total is part of the answer."""
    file = tempfile.TemporaryFile(dir=spool_dir)  # noqa: SIM115 - the response closes it
    for chunk in chunks:
        file.write(chunk)
    total = file.tell()
    first, last = _range(request, total)
    if first >= total or last < first:
        file.close()
        return problem_response(
            request,
            416,
            "range-not-satisfiable",
            "The range asked for is not part of the answer",
            f"the answer has {total} bytes",
            {"bytes": total},
            {"Content-Range": f"bytes */{total}"},
        )
    headers = headers | {
        "Content-Range": f"bytes {first}-{last}/{total}",
        "Content-Length": str(last - first + 1),
    }
    body = _slice(file, first, last + 1)
    return StreamingResponse(body, 206, headers, media_type=media_type.value)


def _range(request: Request, total: int) -> tuple[int, int]:
    """The first and the last byte asked for [RFC 9110, section 14.1.2]."""
    asked = ONE_RANGE.fullmatch(request.headers["range"].replace(" ", ""))
    assert asked is not None
    begin, end = asked.groups()
    if not begin:
        return max(total - int(end), 0), total - 1
    return int(begin), min(int(end), total - 1) if end else total - 1


def _slice(file: IO[bytes], first: int, end: int) -> Iterator[bytes]:
    with file:
        file.seek(first)
        while first < end:
            chunk = file.read(min(CHUNK_BYTES, end - first))
            first += len(chunk)
            yield chunk


def _close(chunks: Iterator[memoryview]) -> None:
    if (stop := getattr(chunks, "close", None)) is not None:
        stop()
