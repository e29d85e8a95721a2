"""Request bodies: chunks made as they are sent, and whether they can be sent again."""

from __future__ import annotations

import json
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

CHUNK_BYTES = 256 * 1024

MEDIA_TYPES = {
    ".csv": "text/csv",
    ".tsv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".pq": "application/vnd.apache.parquet",
    ".arrow": "application/vnd.apache.arrow.stream",
    ".arrows": "application/vnd.apache.arrow.stream",
    ".feather": "application/vnd.apache.arrow.stream",
    ".json": "application/json",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""By the end of a file's name; the service looks at the first bytes of all others."""


class Body(ABC):
    """The bytes of a request, in chunks."""

    media_type: str = "application/octet-stream"
    size: int | None = None
    """How many bytes there are, where that is known beforehand."""

    @abstractmethod
    def chunks(self) -> Iterator[bytes]:
        """The bytes from the start; each call begins anew."""

    @property
    def repeatable(self) -> bool:
        """Whether `chunks` can still be called, again or for the first time."""
        return True


class BytesBody(Body):
    """Bytes that are in memory already."""

    def __init__(self, content: bytes, media_type: str) -> None:
        self.content = content
        self.media_type = media_type
        self.size = len(content)

    def chunks(self) -> Iterator[bytes]:
        view = memoryview(self.content)
        for start in range(0, len(view), CHUNK_BYTES):
            yield bytes(view[start : start + CHUNK_BYTES])


class JsonBody(BytesBody):
    """A value as JSON."""

    def __init__(self, value: object) -> None:
        super().__init__(json.dumps(value, allow_nan=False).encode(), "application/json")


class FileBody(Body):
    """A file, read as it leaves; a temporary one ends with this."""

    def __init__(self, path: str | os.PathLike[str], kept: object = None) -> None:
        self.path = Path(path)
        self._kept = kept
        self.media_type = MEDIA_TYPES.get(self.path.suffix.lower(), "application/octet-stream")
        self.size = self.path.stat().st_size

    def chunks(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


class StreamBody(Body):
    """Chunks that a function makes; of an iterator that runs once, there is only one such run."""

    def __init__(
        self, make: Callable[[], Iterator[bytes]], media_type: str, *, only_once: bool = False
    ) -> None:
        self._make = make
        self._only_once = only_once
        self._begun = False
        self.media_type = media_type

    def chunks(self) -> Iterator[bytes]:
        # The mark is set when the first chunk is taken: a connection that never came about costs nothing.
        self._begun = True
        yield from self._make()

    @property
    def repeatable(self) -> bool:
        return not (self._only_once and self._begun)


class FormBody(Body):
    """Fields and tables as one form (RFC 7578), each table streamed."""

    def __init__(self, parts: Sequence[tuple[str, Body]]) -> None:
        self._parts = parts
        self._boundary = secrets.token_hex(16)
        self.media_type = f"multipart/form-data; boundary={self._boundary}"

    def chunks(self) -> Iterator[bytes]:
        for name, body in self._parts:
            file = "" if body.media_type == "application/json" else f'; filename="{name}"'
            yield (
                f"--{self._boundary}\r\n"
                f'Content-Disposition: form-data; name="{name}"{file}\r\n'
                f"Content-Type: {body.media_type}\r\n\r\n"
            ).encode()
            yield from body.chunks()
            yield b"\r\n"
        yield f"--{self._boundary}--\r\n".encode()

    @property
    def repeatable(self) -> bool:
        return all(body.repeatable for _, body in self._parts)
