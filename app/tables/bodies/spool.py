"""A body set aside for random access, unreadable to anyone but this process.

Parquet keeps its index at the end, so its body must be complete before the first row is read. It
lies in a file without a name, encrypted by AES-256-CTR under a key that only ever exists in memory:
what a crash or a stolen disk leaves behind are random bytes. CTR, because any offset must be
readable alone; nobody who could alter the bytes could not alter the process.
"""

from __future__ import annotations

import io
import os
import tempfile
import threading
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from app.tables.bodies.streams import ByteStream

CHUNK_BYTES = 2**20
CIPHER_BLOCK = 16


class Spool(io.RawIOBase):
    """A seekable file over the bytes of `body`, and of what is appended."""

    def __init__(self, body: ByteStream, folder: Path) -> None:
        super().__init__()
        self._cipher = AES(os.urandom(32))
        self._position = 0
        # Who reads ahead in a thread may still do so while the file is closed.
        self._in_use = threading.Lock()
        self.size = 0
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - close() closes it
        self._encryptor = Cipher(self._cipher, CTR(bytes(CIPHER_BLOCK))).encryptor()
        try:
            while data := body.read(CHUNK_BYTES):
                self.append(data)
        except BaseException:
            self.close()
            raise

    def append(self, data: bytes) -> None:
        """Put bytes behind those of the body."""
        self._file.write(self._encryptor.update(data))
        self._file.flush()
        self.size += len(data)

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self.size - self._position if size is None or size < 0 else size
        block, skipped = divmod(self._position, CIPHER_BLOCK)
        with self._in_use:
            sealed = os.pread(self._file.fileno(), wanted + skipped, block * CIPHER_BLOCK)
        decrypt = Cipher(self._cipher, CTR(block.to_bytes(CIPHER_BLOCK, "big"))).decryptor()
        data = decrypt.update(sealed)[skipped:]
        self._position += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        with self._in_use:
            self._file.close()
        super().close()
