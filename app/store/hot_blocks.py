"""Blocks of rows kept in this process, up to a number of bytes: those used last stay.

Whoever gets a block must not write to it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar


class Block(Protocol):
    """What is kept: an array, a batch."""

    @property
    def nbytes(self) -> int: ...


Kept = TypeVar("Kept", bound=Block)


class HotBlocks(Generic[Kept]):
    """Blocks by name; `get` may always answer None."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._blocks: OrderedDict[Hashable, Kept] = OrderedDict()
        self._bytes = 0

    @property
    def bytes_held(self) -> int:
        """Bytes of all blocks."""
        return self._bytes

    def get(self, name: Hashable) -> Kept | None:
        """The block of that name, if it is still held."""
        with self._lock:
            held = self._blocks.get(name)
            if held is not None:
                self._blocks.move_to_end(name)
            return held

    def put(self, name: Hashable, block: Kept) -> None:
        """Hold a block in place of the one that had its name; the longest unused ones leave."""
        with self._lock:
            before = self._blocks.pop(name, None)
            self._bytes -= before.nbytes if before is not None else 0
            if block.nbytes > self._most_bytes:
                return
            self._blocks[name] = block
            self._bytes += block.nbytes
            while self._bytes > self._most_bytes:
                _, oldest = self._blocks.popitem(last=False)
                self._bytes -= oldest.nbytes
