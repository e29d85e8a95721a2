"""Authenticated encryption of bytes at rest with random access.

A file is cut into chunks of 64 KiB, each sealed by AES-256-GCM under a key of the file's own. The
number of the chunk is its nonce; whether it is the last is authenticated with it, so that chunks
neither change places nor get lost. The key stands at the beginning, sealed by the vault for the
name of the file. A range costs the chunks that it touches.

    8 bytes  MARK
    4 bytes  length of the sealed key, little-endian, then the sealed key
    chunks   ciphertext and a tag of 16 bytes each
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.store.vault import SealBroken, Vault

MARK = b"cwseal1\n"
CHUNK_BYTES, TAG_BYTES, NONCE_BYTES, KEY_BYTES = 64 * 1024, 16, 12, 32


@dataclass(frozen=True, repr=False)
class FileKey:
    """The key of one file: as it works, and as the vault sealed it for the file's beginning."""

    key: bytes
    sealed: bytes

    @classmethod
    def new(cls, vault: Vault, name: str) -> FileKey:
        """A fresh key for the file of that name."""
        key = os.urandom(KEY_BYTES)
        return cls(key, vault.seal(key, _context(name)))

    @property
    def beginning(self) -> bytes:
        """Return the file header."""
        return MARK + len(self.sealed).to_bytes(4, "little") + self.sealed


class Sink(Protocol):
    """Destination of sealed bytes."""

    def write(self, data: bytes, /) -> object: ...


class SealingWriter(io.RawIOBase):
    """Seals what is written to it; `finish` seals the rest, and only then is the file whole."""

    def __init__(self, sink: Sink, key: FileKey) -> None:
        super().__init__()
        self._sink = sink
        self._cipher = AESGCM(key.key)
        self._held = bytearray()
        self._chunk = 0
        sink.write(key.beginning)

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        taken = memoryview(data).cast("B")  # type: ignore[arg-type]
        self._held += taken
        # The last chunk is known by the end alone, so one is always held back.
        while len(self._held) > CHUNK_BYTES:
            self._seal(bytes(self._held[:CHUNK_BYTES]), last=False)
            del self._held[:CHUNK_BYTES]
        return len(taken)

    def finish(self) -> None:
        """Seal what is left, as the end of the file."""
        self._seal(bytes(self._held), last=True)
        self._held.clear()

    def _seal(self, chunk: bytes, *, last: bool) -> None:
        self._sink.write(self._cipher.encrypt(_nonce(self._chunk), chunk, _end(last=last)))
        self._chunk += 1


class SealedFile:
    """The bytes behind a sealed file; several threads may read at once."""

    def __init__(self, file: pa.NativeFile, vault: Vault, name: str) -> None:
        self._file = file
        opening = len(MARK) + 4
        head = file.read_at(opening, 0)
        length = int.from_bytes(head[len(MARK) :], "little")
        if head[: len(MARK)] != MARK or length > CHUNK_BYTES:
            raise SealBroken("a sealed file does not begin like one")
        self._cipher = AESGCM(vault.open(file.read_at(length, opening), _context(name)))
        self._start = opening + length
        sealed = file.size() - self._start
        self._chunks = -(-sealed // (CHUNK_BYTES + TAG_BYTES))
        self.size = sealed - self._chunks * TAG_BYTES

    def read(self, start: int, count: int) -> bytes:
        """Read bytes from `start` on, fewer at the end; SealBroken if they were altered."""
        end = min(start + count, self.size)
        if end <= start:
            return b""
        first, last = start // CHUNK_BYTES, (end - 1) // CHUNK_BYTES
        step = CHUNK_BYTES + TAG_BYTES
        sealed = memoryview(
            self._file.read_at((last - first + 1) * step, self._start + first * step)
        )
        opened = b"".join(
            self._open(sealed[step * place : step * (place + 1)], first + place)
            for place in range(last - first + 1)
        )
        return opened[start - first * CHUNK_BYTES : end - first * CHUNK_BYTES]

    def _open(self, chunk: memoryview, number: int) -> bytes:
        try:
            end = _end(last=number == self._chunks - 1)
            return self._cipher.decrypt(_nonce(number), chunk, end)
        except (InvalidTag, ValueError):
            raise SealBroken("a part of a sealed file was altered or is lost") from None


class SealedReader:
    """The bytes behind a sealed file, from its beginning."""

    def __init__(self, file: SealedFile) -> None:
        self._file = file
        self.position = 0

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, none at the end."""
        found = self._file.read(self.position, size)
        self.position += len(found)
        return found


class PlainFile:
    """The bytes of a file that lies as it is."""

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file
        self.size = int(file.size())

    def read(self, start: int, count: int) -> bytes:
        """Read bytes from `start` on, fewer at the end; SealBroken if they were altered."""
        return bytes(self._file.read_at(max(0, min(count, self.size - start)), start))


def _nonce(chunk: int) -> bytes:
    return chunk.to_bytes(NONCE_BYTES, "big")


def _end(*, last: bool) -> bytes:
    return b"last" if last else b"more"


def _context(name: str) -> str:
    return f"released:{name}"
