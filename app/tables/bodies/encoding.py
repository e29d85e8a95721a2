"""Undoing a Content-Encoding as the body arrives, with limits against bodies that unpack to much.

Bytes are counted twice: as they come over the wire (`RequestBody` does that) and as they come out
here. A body that unpacks to more than the upload limit, or to more than `RATIO` times its size once
that is beyond `FREE_BYTES`, is refused at the block where it happens, in bounded memory.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from app.errors import InvalidTable, TooLarge, UnsupportedMediaType

CODECS = {"gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}
RATIO = 200
FREE_BYTES = 64 * 2**20


class Readable(Protocol):
    """What a body can do: give at most so many bytes, none at its end."""

    def read(self, size: int, /) -> bytes: ...


class Counted:
    """A body that says how much was read of it, and looks like a file to Arrow."""

    closed = False

    def __init__(self, body: Readable, limit: int, what: str = "body") -> None:
        self._body = body
        self._limit = limit
        self._what = what
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._body.read(size)
        self.count += len(data)
        if self.count > self._limit:
            raise TooLarge(
                f"The {self._what} is larger than {self._limit} bytes", limit_bytes=self._limit
            )
        return data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        """The body belongs to the request, which closes it."""


class Unpacked:
    """The plain bytes of a body in a Content-Encoding."""

    def __init__(self, body: Counted, codec: str) -> None:
        self._packed = body
        self._stream = pa.CompressedInputStream(pa.PythonFile(body, mode="r"), codec)
        self._codec = codec
        self._count = 0

    def read(self, size: int, /) -> bytes:
        try:
            data: bytes = self._stream.read(size)
        except (pa.ArrowException, OSError):
            raise InvalidTable(
                f"The body is not complete, well-formed {self._codec}, as Content-Encoding says"
            ) from None
        self._count += len(data)
        if self._count > max(FREE_BYTES, RATIO * self._packed.count):
            raise TooLarge(
                f"The body unpacks to more than {RATIO} times its size", limit_ratio=RATIO
            )
        return data


def unpacked(body: Readable, content_encoding: str | None, limit: int) -> Counted:
    """The body without its Content-Encoding, counted before and after against `limit` bytes."""
    wire = Counted(body, limit)
    named = (content_encoding or "identity").strip().lower()
    if named in ("identity", ""):
        return wire
    if named not in CODECS:
        raise UnsupportedMediaType(
            "The Content-Encoding of the body must be one of: gzip, zstd, identity",
            supported=["gzip", "zstd", "identity"],
        )
    return Counted(Unpacked(wire, CODECS[named]), limit, "body, unpacked,")
