"""Blocks of the Brownian path behind the copies, a tile of rows at a time [li2012].

A copy is asked for again years later, in another slice, in a process with other blocks at hand, and
must come out bit for bit the same. What B is at a place depends on the place alone (`definition.py`),
so neither the tiles, nor the rows beside it, nor whether the path at a neighbour is drawn again or
comes from a cache, can matter. Tiles are as large as the memory next to a core.

| here | meaning |
| --- | --- |
| history | variances in order of arrival, as `multilevel.bridges` |
| r | columns of the path |
| B | the path at one variance, (r, n): a column of noise is contiguous |
| block, offsets | row group of a part, rows within it |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.copies.multilevel import Bridge, bridges
from app.numerics.copies.noise.keystream import Keystream
from app.numerics.copies.noise.steps import Steps, steps

TILE_ROWS = 16_384
TILE_VALUES = 2**17  # of all columns together: a wide table has shorter tiles


@dataclass(frozen=True, repr=False)
class PathDraws:
    """All that B at one variance is made of, in one part.

    where:
        target   position of the variance in the history
        keys     draw key of every position in `draws_needed`
        columns  r
    """

    history: Sequence[Bridge]
    target: int
    keys: Mapping[int, bytes]
    columns: int


@dataclass(frozen=True)
class Rows:
    """The offsets [first, last) of a block."""

    block: int
    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise ValueError("rows of a block run upwards from 0")


def draws_needed(history: Sequence[Bridge], target: int, known: Mapping[int, object]) -> list[int]:
    """Positions to draw for B at `target`, in order of arrival, when those in `known` are at hand.

    They are the ancestors of the target in the search tree that the variances grow: a bridge hangs
    between two earlier ones of which the later hangs, among others, from the earlier.
    """
    needed: set[int] = set()
    waiting = [target]
    while waiting:
        position = waiting.pop()
        if position in needed or position in known:
            continue
        needed.add(position)
        bridge = history[position]
        waiting += [end for end in (bridge.lower, bridge.upper) if end is not None]
    return sorted(needed)


def path_block(
    draws: PathDraws, rows: Rows, known: Mapping[int, FloatArray] | None = None
) -> FloatArray:
    """B for some rows of a block, of shape (columns, last - first); `known` as in `path_tiles`."""
    if known is not None and draws.target in known:
        return known[draws.target]
    whole = np.empty((draws.columns, rows.last - rows.first))
    for start, B in path_tiles(draws, rows, known or {}, steps()):
        whole[:, start : start + B.shape[1]] = B
    return whole


def standard_normals(key: bytes, rows: Rows, columns: int) -> FloatArray:
    """What one key draws for some rows of a block, of shape (columns, last - first)."""
    return path_block(PathDraws(bridges([1.0]), 0, {0: key}, columns), rows)


def path_tiles(
    draws: PathDraws, rows: Rows, known: Mapping[int, FloatArray], using: Steps
) -> Iterator[tuple[int, FloatArray]]:
    """B tile by tile: where a tile begins, counted from the first row, and its values.

    `known` holds the path at other positions, or at the target itself, for the same rows, each of
    shape (columns, last - first); it is used and never written to. A tile is valid until the next
    one is asked for.
    """
    needed = draws_needed(draws.history, draws.target, known)
    streams = {position: Keystream(draws.keys[position]) for position in needed}
    r, n = draws.columns, rows.last - rows.first
    height = max(1, min(TILE_ROWS, TILE_VALUES // r, n))
    if not needed:
        for start in range(0, n, height):
            yield start, np.ascontiguousarray(known[draws.target][:, start : start + height])
        return
    slots = _slots(draws.history, needed)
    room = np.empty((max(slots.values()) + 1, 1, height))
    words_room = np.empty((1, height), dtype=np.uint64)
    B_room = np.empty(r * height)
    for start in range(0, n, height):
        m = min(height, n - start)
        words, B = words_room[:, :m], B_room[: r * m].reshape(r, m)
        # One column goes all the way to the target before the next: what it touches stays near.
        for column in range(r):
            held = {
                position: np.ascontiguousarray(values[column : column + 1, start : start + m])
                for position, values in known.items()
            }
            for position in needed:
                streams[position].fill(words[0], rows.block, column, first=rows.first + start)
                held[position] = room[slots[position], :, :m]
                if position == draws.target:
                    held[position] = B[column : column + 1]
                bridge = draws.history[position]
                using.path_tile(
                    words,
                    bridge.fresh_sd,
                    None if bridge.lower is None else held[bridge.lower],
                    bridge.lower_weight,
                    None if bridge.upper is None else held[bridge.upper],
                    bridge.upper_weight,
                    held[position],
                )
        yield start, B


def _slots(history: Sequence[Bridge], needed: Sequence[int]) -> dict[int, int]:
    """Where each position's tile is kept; a tile that no later one hangs from makes room.

    The way to a target leads down a search tree, so that three are enough, however long it is.
    """
    last_use = {position: position for position in needed}
    for position in needed:
        for end in (history[position].lower, history[position].upper):
            if end in last_use:
                last_use[end] = position
    slots: dict[int, int] = {}
    for position in needed:
        taken = {slots[other] for other in slots if last_use[other] >= position}
        slots[position] = next(slot for slot in range(len(needed)) if slot not in taken)
    return slots
