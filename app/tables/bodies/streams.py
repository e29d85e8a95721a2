"""Byte streams of a body: counted, decompressed, and transcoded to UTF-8 as they are read.

Bytes are counted as they arrive and again as they come out of a decompressor. A body that unpacks to more than the
upload limit, or to more than `RATIO` times its size beyond `FREE_BYTES`, is refused at the block where it happens.
"""

from __future__ import annotations

import codecs
import io
from typing import Protocol

import pyarrow as pa

from app.errors import InvalidTable, TooLarge, UnsupportedMediaType

CODECS = {"gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}
RATIO = 200
FREE_BYTES = 64 * 2**20


def refuse_swollen(size: int, packed: int, limit: int) -> None:
    """TooLarge where `packed` bytes unpack to more than `limit`, or than `RATIO` times as many."""
    if size > limit:
        raise TooLarge(f"The table unpacks to more than {limit} bytes", limit_bytes=limit)
    if size > max(FREE_BYTES, RATIO * packed):
        raise TooLarge(f"The table unpacks to more than {RATIO} times its size", limit_ratio=RATIO)


class ByteStream(Protocol):
    """A body: `read` returns at most `size` bytes, none at its end."""

    def read(self, size: int, /) -> bytes: ...


def read_fully(body: ByteStream, size: int) -> bytes:
    """Return the next `size` bytes of a body, fewer only at its end."""
    parts, missing = [], size
    while missing and (data := body.read(missing)):
        parts.append(data)
        missing -= len(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class ReadOnly:
    """Read-only file for Arrow; the body itself belongs to the request."""

    closed = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        """Leave the body open."""


class CountedStream(ReadOnly):
    """A body that counts its bytes; TooLarge beyond a limit."""

    def __init__(self, body: ByteStream, limit: int, what: str = "body") -> None:
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


class PeekedStream(ReadOnly):
    """A body from its beginning, after some bytes were read ahead.

    A read is filled until the body ends: Arrow refuses a row that does not end in the block after the one in which it
    begins, and takes what one read gives for a block.
    """

    def __init__(self, head: bytes, rest: ByteStream) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest
        self.ended = False
        self.quotes = 0  # an odd number leaves a field of a CSV open

    def read(self, size: int, /) -> bytes:
        found = self._head.read(size)
        if len(found) < size:
            found += read_fully(self._rest, size - len(found))
            self.ended = len(found) < size
        self.quotes += found.count(b'"')
        return found


class DecompressedStream:
    """The bytes of a body in a Content-Encoding, or of a compressed file (`declared` is then false)."""

    def __init__(
        self, body: CountedStream, codec: str, limit: int, *, declared: bool = True
    ) -> None:
        self._declared = declared
        self._limit = limit
        self._packed = body
        self._stream = pa.CompressedInputStream(pa.PythonFile(body, mode="r"), codec)
        self._codec = codec
        self._count = 0

    def read(self, size: int, /) -> bytes:
        try:
            data: bytes = self._stream.read(size)
        except (pa.ArrowException, OSError):
            raise self._damaged() from None
        self._count += len(data)
        refuse_swollen(self._count, self._packed.count, self._limit)
        return data

    def _damaged(self) -> InvalidTable:
        if self._declared:
            return InvalidTable(
                f"The body is not complete, well-formed {self._codec}, as Content-Encoding says"
            )
        return InvalidTable(
            f"The body begins as {self._codec} does, without a Content-Encoding, and is not complete, well-formed"
            f" {self._codec}: after {self._packed.count} bytes its end is missing, or bytes were changed on the way."
            " Compare its size with that of the file and send it again, or send the table without packing it."
        )


class Utf8Stream:
    """A body in another encoding, as UTF-8."""

    def __init__(self, body: ByteStream, charset: str) -> None:
        self._body = body
        self._charset = charset
        self._decoder = codecs.getincrementaldecoder(charset)()
        self._rest = b""
        self._ended = False

    def read(self, size: int, /) -> bytes:
        while not self._rest and not self._ended:
            data = self._body.read(max(size, 4))
            self._ended = not data
            try:
                self._rest = self._decoder.decode(data, final=self._ended).encode()
            except UnicodeError:
                raise InvalidTable(
                    f"The text is not {self._charset} throughout; name the encoding that it has "
                    "with the parameter `encoding`.",
                    parameter="encoding",
                ) from None
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def decompressed(wire: CountedStream, content_encoding: str | None, limit: int) -> CountedStream:
    """The body without its Content-Encoding, counted again."""
    named = (content_encoding or "identity").strip().lower()
    if named in ("identity", ""):
        return wire
    if named not in CODECS:
        raise UnsupportedMediaType(
            "The Content-Encoding of the body must be one of: gzip, zstd, identity",
            supported=["gzip", "zstd", "identity"],
        )
    return CountedStream(DecompressedStream(wire, CODECS[named], limit), limit, "body, unpacked,")


class ChunkSink(io.RawIOBase):
    """A file to a writer, emptied by `take` after each step."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def write(self, data: object, /) -> int:
        # Bytes never change and are kept as they are; whatever else the writer has is its own.
        part = data if isinstance(data, bytes) else bytes(memoryview(data))  # type: ignore[arg-type]
        self._parts.append(part)
        return len(part)

    def writable(self) -> bool:
        return True

    def take(self) -> list[bytes]:
        """Return the bytes written since the last call."""
        taken, self._parts = self._parts, []
        return taken
