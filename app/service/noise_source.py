"""Blocks of one copy's noise, from the cache where it has them, else drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.model import HistoryEntry
from app.numerics.brownian import draws_needed, path_block
from app.numerics.multilevel import Bridge, bridges
from app.numerics.noise import BLOCK_ROWS, draw_key
from app.store.noise_cache import BlockName, NoiseCache, cache_key

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class NoiseSource:
    """The Brownian path at one entry of a history, for any rows.

    where:
        keys     draw key of every entry that the target leads back to
        columns  r, the rank of the covariance
        rows     how many rows the data set has: a block of the cache ends there at the latest
    """

    history: Sequence[Bridge]
    hashes: Sequence[str]
    keys: Mapping[int, bytes]
    target: int
    columns: int
    rows: int
    cache: NoiseCache
    cache_key: bytes

    def path(self, start: int, stop: int) -> FloatArray:
        """B for the rows [start, stop), all of one block; shape (columns, stop - start)."""
        block = start // BLOCK_ROWS
        origin = block * BLOCK_ROWS
        known = self._at_hand(block, start - origin, stop - origin)
        path = path_block(
            self.history,
            self.keys,
            self.target,
            start=start,
            stop=stop,
            columns=self.columns,
            known=known,
        )
        whole = start == origin and stop == min(origin + BLOCK_ROWS, self.rows)
        if whole and self.target not in known:
            self.cache.put(BlockName(self.hashes[self.target], block), path, self.cache_key)
        return path

    def _at_hand(self, block: int, first: int, last: int) -> dict[int, FloatArray]:
        """What the cache has of the target or, where it has nothing, of those it hangs from."""
        known: dict[int, FloatArray] = {}
        asked: set[int] = set()
        waiting = [self.target]
        while waiting:
            position = waiting.pop()
            if position in asked:
                continue
            asked.add(position)
            held = self.cache.get(
                BlockName(self.hashes[position], block),
                columns=self.columns,
                rows=last,
                key=self.cache_key,
            )
            if held is not None:
                known[position] = held[:, first:last]
                continue
            bridge = self.history[position]
            waiting += [end for end in (bridge.lower, bridge.upper) if end is not None]
        return known


def noise_source(
    entries: Sequence[HistoryEntry],
    entry: HistoryEntry,
    *,
    secret: bytes,
    columns: int,
    rows: int,
    cache: NoiseCache,
) -> NoiseSource:
    """The source of an entry's noise; `entries` is the whole history in order."""
    history = bridges([one.noise_variance for one in entries])
    target = entry.sequence - 1
    keys = {
        position: draw_key(secret, bytes.fromhex(entries[position].hash))
        for position in draws_needed(history, target, {})
    }
    hashes = [one.hash for one in entries]
    return NoiseSource(history, hashes, keys, target, columns, rows, cache, cache_key(secret))
