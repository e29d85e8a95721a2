"""Blocks of rows kept in this process, up to a number of bytes: those used last stay.

Whoever gets a block must not write to it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Block(Protocol):
    """What is kept: an array, a batch."""

    @property
    def nbytes(self) -> int: ...


Kept = TypeVar("Kept", bound=Block)


@dataclass(frozen=True)
class _Held(Generic[Kept]):
    block: Kept
    series: Hashable


class HotBlocks(Generic[Kept]):
    """Blocks by name; `get` may always answer None."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._blocks: OrderedDict[Hashable, _Held[Kept]] = OrderedDict()
        self._bytes = 0

    @property
    def bytes_held(self) -> int:
        """Bytes of all blocks."""
        return self._bytes

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
            self._bytes -= before.block.nbytes if before is not None else 0
            leaving = self._leaving(block.nbytes)
            if leaving is None or any(self._blocks[old].series == series for old in leaving):
                return
            for old in leaving:
                self._bytes -= self._blocks.pop(old).block.nbytes
            self._blocks[name] = _Held(block, series)
            self._bytes += block.nbytes

    def _leaving(self, wanted: int) -> list[Hashable] | None:
        """Who must leave for so many bytes; None when there is no room for them at all."""
        if wanted > self._most_bytes:
            return None
        leaving: list[Hashable] = []
        room = self._most_bytes - self._bytes
        for name, held in self._blocks.items():
            if room >= wanted:
                break
            leaving.append(name)
            room += held.block.nbytes
        return leaving
