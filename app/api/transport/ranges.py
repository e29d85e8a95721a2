"""One range of a download's bytes, to go on with one that broke off or to read a part of a file.

A range may count from the end, and the total is part of the answer, so all bytes are written to a
nameless file first. Whoever asks for one range asks for more: the file is kept for them, under the
ETag that stands for its bytes.
"""

from __future__ import annotations

import os
import re
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from fastapi import Request, Response

from app.api.transport.downloads import RANGED, streamed, watched
from app.api.transport.problems import TRANSPORT, problem_response
from app.store.caches.hot_blocks import HotBlocks
from app.tables.media import MediaType
from app.tables.writing import CHUNK_BYTES

KEPT_BYTES, MOST_KEPT = 2**30, 64
"""Of files kept for the next range, and how many; they have no names and end with the process."""

ONE_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})|bytes=-(\d{1,18})")


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
        """What it counts among those kept: of open files, too, there may be only so many."""
        return max(self.size, KEPT_BYTES // MOST_KEPT)

    def read(self, start: int, count: int) -> bytes:
        """So many bytes from `start` on; others may read at the same time."""
        return os.pread(self._descriptor, count, start)


class Bytes(Protocol):
    """Bytes that can be read from any place in them."""

    size: int

    def read(self, start: int, count: int) -> bytes: ...


class Ranges:
    """Answers with ranges, from files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: HotBlocks[WrittenFile] = HotBlocks(KEPT_BYTES)

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
    """Whether one range is asked for, of these very bytes (If-Range), in a format that has them.

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
