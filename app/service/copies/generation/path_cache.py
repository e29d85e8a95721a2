"""Cached noise path of a block, where the cache pays.

Drawing a block costs less than fetching it from another machine, and hardly more than copying it. A
path that hangs from several others is another matter: each of them is a draw of its own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.numerics.copies.path import PathDraws, RowRange, draws_needed
from app.store.caches.noise_cache import BlockName, NoiseCache

FloatArray = NDArray[np.float64]

LEAST_DRAWS = 3
"""Draws from which on a path is looked for in the cache, and kept there."""


@dataclass(frozen=True, repr=False)
class PathCache:
    """Blocks of the paths of one data set; `key` protects them outside this process."""

    cache: NoiseCache
    key: bytes

    def at_hand(self, draws: PathDraws, rows: RowRange) -> dict[int, FloatArray]:
        """Return the cached path of the target or, without one, those it depends on."""
        known: dict[int, FloatArray] = {}
        asked: set[int] = set()
        waiting = [draws.target]
        while waiting:
            position = waiting.pop()
            if position in asked or not worth_keeping(draws, position):
                continue
            asked.add(position)
            held = self.cache.get(
                _name(draws, position, rows), columns=draws.columns, rows=rows.last, key=self.key
            )
            if held is not None:
                known[position] = held[:, rows.first : rows.last]
                continue
            bridge = draws.history[position]
            waiting += [end for end in (bridge.lower, bridge.upper) if end is not None]
        return known

    def keep(self, draws: PathDraws, rows: RowRange, path: FloatArray) -> None:
        """Keep the target's path of a whole block."""
        self.cache.put(_name(draws, draws.target, rows), path, self.key)


def worth_keeping(draws: PathDraws, position: int) -> bool:
    """Return whether drawing the path at a position anew costs more than keeping it."""
    return len(draws_needed(draws.history, position, {})) >= LEAST_DRAWS


def _name(draws: PathDraws, position: int, rows: RowRange) -> BlockName:
    """By what the block is drawn with, which says entry, part and shape, and tells nobody the key."""
    return BlockName(hashlib.sha256(b"path\0" + draws.keys[position]).hexdigest(), rows.block)
