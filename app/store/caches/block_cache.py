"""Caches of blocks of rows: one in this process, bounded by bytes, and one of noise in Redis behind it.

Whoever gets a block must not write to it. A block of noise is a function of the secret and the history, so a cache saves
work and decides nothing (invariant 8). In Redis it is encrypted and authenticated under a key that the caller derives from
the data set's secret: whoever reads Redis learns nothing, and what somebody else put there, or moved, does not open and
counts as absent. When Redis fails or is slow it is left alone for a while (`circuit_breaker.py`).

A block of noise holds all rows of its row group, which never change.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from app.store.caches.circuit_breaker import CircuitBreaker


class Block(Protocol):
    """Cached value: an array or a batch."""

    @property
    def nbytes(self) -> int: ...


Kept = TypeVar("Kept", bound=Block)


@dataclass(frozen=True)
class _Held(Generic[Kept]):
    block: Kept
    series: Hashable


class HotBlocks(Generic[Kept]):
    """Blocks by name; `get` may always answer None."""

    def __init__(self, most_bytes: int, beside: int = 0) -> None:
        """Create a cache; `beside` is the overhead in bytes that is added to the size of each block."""
        self._most_bytes = most_bytes
        self._beside = beside
        self._lock = threading.Lock()
        self._blocks: OrderedDict[Hashable, _Held[Kept]] = OrderedDict()
        self._bytes = 0
        self._being_made: dict[Hashable, Future[Kept]] = {}

    @property
    def bytes_held(self) -> int:
        """Bytes that all blocks are reckoned."""
        return self._bytes

    def could_hold(self, count: int) -> bool:
        """Return whether a block of this size fits at all."""
        return count <= self._most_bytes

    def get(self, name: Hashable) -> Kept | None:
        """The block of that name, if it is still held."""
        with self._lock:
            held = self._blocks.get(name)
            if held is None:
                return None
            self._blocks.move_to_end(name)
            return held.block

    def put(self, name: Hashable, block: Kept, series: Hashable) -> None:
        """Hold a block in place of the one that had its name; the longest unused ones leave.

        Blocks of one series are asked for from the first to the last, again and again. When there
        is no room for all, its first ones stay: were they to leave for its last ones, none would
        ever be found.
        """
        with self._lock:
            before = self._blocks.pop(name, None)
            self._bytes -= self._reckoned(before)
            leaving = self._leaving(block.nbytes + self._beside)
            if leaving is None or any(self._blocks[old].series == series for old in leaving):
                return
            for old in leaving:
                self._bytes -= self._reckoned(self._blocks.pop(old))
            held = self._blocks[name] = _Held(block, series)
            self._bytes += self._reckoned(held)

    def let_go(self, name: Hashable) -> None:
        """Hold the block of that name no longer."""
        with self._lock:
            self._bytes -= self._reckoned(self._blocks.pop(name, None))

    def get_or_make(self, name: Hashable, make: Callable[[], Kept], series: Hashable) -> Kept:
        """Return the block of a name, made once if absent; concurrent requests wait for it.

        An error of `make` is raised in its own thread only, which may have been cancelled; waiting threads make the block.
        """
        held = self.get(name)
        if held is not None:
            return held
        with self._lock:
            made = self._being_made.get(name)
            ours = made is None
            if made is None:
                made = self._being_made[name] = Future()
        if not ours:
            return made.result() if made.exception() is None else make()
        try:
            block = make()
            self.put(name, block, series)
            made.set_result(block)
        except BaseException as error:
            made.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._being_made[name]
        return block

    def _leaving(self, wanted: int) -> list[Hashable] | None:
        """Return the blocks to evict for a new one of this size; None when it cannot fit."""
        if not self.could_hold(wanted):
            return None
        leaving: list[Hashable] = []
        room = self._most_bytes - self._bytes
        for name, held in self._blocks.items():
            if room >= wanted:
                break
            leaving.append(name)
            room += self._reckoned(held)
        return leaving

    def _reckoned(self, held: _Held[Kept] | None) -> int:
        return 0 if held is None else held.block.nbytes + self._beside


REMEMBERED = 10_000


class Checksums:
    """Fingerprint of a release → checksum of its values."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, str] = OrderedDict()

    def get(self, fingerprint: str) -> str | None:
        """The checksum, if it is remembered."""
        with self._lock:
            return self._known.get(fingerprint)

    def put(self, fingerprint: str, checksum: str) -> None:
        """Remember a checksum, and forget the oldest beyond `REMEMBERED`."""
        with self._lock:
            self._known[fingerprint] = checksum
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)


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
