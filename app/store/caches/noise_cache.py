"""Two-level cache of noise blocks: this process (bounded by bytes), then Redis.

A block is a function of the secret and the history, so a cache saves work and decides nothing
(invariant 8). In Redis it is encrypted and authenticated under a key that the principal of this module
derives from the data set's secret: whoever reads Redis learns nothing, and what somebody else put
there, or moved, does not open and counts as absent. When Redis fails or is slow it is left alone
for a while (`circuit_breaker.py`).

A block holds all rows of its row group, which never change.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from app.store.caches.circuit_breaker import CircuitBreaker
from app.store.caches.hot_blocks import HotBlocks

FloatArray = NDArray[np.float64]

PREFIX = "cornerwave:noise:"
KEPT_SECONDS = 3_600
LARGEST_IN_REDIS = 16 * 2**20
BESIDE_VALUES = 512
"""Bytes that an array and its name take beside the values."""
_NONCE_BYTES = 12


@dataclass(frozen=True)
class BlockName:
    """Cache key of a block: draw, part and row group."""

    draw: str
    block: int

    def __str__(self) -> str:
        return f"{self.draw}:{self.block}"


def cache_key(secret: bytes) -> bytes:
    """The key that protects a data set's blocks outside this process, 32 bytes."""
    return HKDF(SHA256(), 32, salt=None, info=b"cornerwave noise cache v1").derive(secret)


class NoiseCache:
    """Blocks by name; `get` may always answer None."""

    def __init__(self, most_bytes: int, redis: CircuitBreaker | None = None) -> None:
        self._hot: HotBlocks[FloatArray] = HotBlocks(most_bytes, BESIDE_VALUES)
        self._redis = redis

    @property
    def bytes_held(self) -> int:
        """Bytes of blocks in this process."""
        return self._hot.bytes_held

    def get(self, name: BlockName, *, columns: int, rows: int, key: bytes) -> FloatArray | None:
        """The block, if one of at least `rows` rows is at hand; shape (columns, ≥ rows)."""
        held = self._hot.get(name)
        if held is not None and held.shape[1] >= rows:
            return held
        found = self._from_redis(name, columns, rows, key)
        if found is not None:
            self._hot.put(name, found, name.draw)
        return found

    def put(self, name: BlockName, block: FloatArray, key: bytes) -> None:
        """Store a block, which is read-only from now on."""
        block.setflags(write=False)
        self._hot.put(name, block, name.draw)
        self._to_redis(name, block, key)

    def _from_redis(
        self, name: BlockName, columns: int, rows: int, key: bytes
    ) -> FloatArray | None:
        if self._redis is None:
            return None
        sealed = self._redis.call(lambda redis: redis.get(f"{PREFIX}{name}"))
        if not isinstance(sealed, bytes):
            return None
        try:
            nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            content = AESGCM(key).decrypt(nonce, body, str(name).encode())
        except (InvalidTag, ValueError):
            return None
        values = np.frombuffer(content, dtype="<f8")
        if columns == 0 or len(values) % columns or len(values) // columns < rows:
            return None
        return np.asarray(values.reshape(columns, -1), dtype=np.float64)

    def _to_redis(self, name: BlockName, block: FloatArray, key: bytes) -> None:
        if self._redis is None or block.nbytes > LARGEST_IN_REDIS:
            return
        nonce = os.urandom(_NONCE_BYTES)
        content = np.ascontiguousarray(block, dtype="<f8").tobytes()
        sealed = nonce + AESGCM(key).encrypt(nonce, content, str(name).encode())
        self._redis.call(lambda redis: redis.set(f"{PREFIX}{name}", sealed, ex=KEPT_SECONDS))
