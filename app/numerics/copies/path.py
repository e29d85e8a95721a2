"""Brownian path in the noise variance across trust levels, in blocks of rows [li2012, section 5].

The corner-wave covariance min(v_i, v_j)·K_X of theorem 4 says that the noise is a Brownian path B
in v, shaped by a factor of K_X. Given all that was drawn before, a new point of the path depends on
its two neighbours alone (a Brownian bridge), and every point is a linear combination of the
standard normals g_j drawn so far: B(v_i) = Σ_j c_ij·g_j. The rows c_i are the Cholesky factor of
min(v_i, v_j) in the order of arrival. Algorithms 1, 2 and 3 are that one matrix, built at once for
levels in any order, for levels in ascending order, or one row at a time.

| here | li2012 | meaning |
| --- | --- | --- |
| v_i | σ²_{Z_i} | noise variance of the i-th copy, relative to K_X |
| m | M | number of levels |
| B(v) | | the path: n × r standard Brownian values at v, before shaping |
| L | | factor of K_X, d × r |
| Z_i = B(v_i)·Lᵀ | Z_i | noise of the i-th copy |

Departs from [li2012, eq. 15]: as printed it repeats v_i along a row. The corner-wave property and
theorem 1 need min(v_i, v_j).

A copy is asked for again years later, in another slice, in a process with other blocks at hand, and
must come out bit for bit the same. What B is at a place depends on the place alone (`definition.py`),
so neither the tiles, nor the rows beside it, nor whether the path at a neighbour is drawn again or
comes from a cache, can matter. Tiles are as large as the memory next to a core.

| here | meaning |
| --- | --- |
| history | variances in order of arrival, as `bridges` |
| r | columns of the path |
| B | the path at one variance, (r, n): a column of noise is contiguous |
| block, offsets | row group of a part, rows within it |
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.copies.noise.keystream import Keystream
from app.numerics.copies.noise.steps import Steps, steps


@dataclass(frozen=True)
class Bridge:
    """Brownian bridge: a point of the path from its two neighbours and a fresh normal g:

    B(v) = lower_weight·B(lower) + upper_weight·B(upper) + fresh_sd·g.
    """

    lower: int | None
    """Position in the history of the next smaller variance; None stands for B(0) = 0."""
    upper: int | None
    """Position of the next larger variance; None when v is the largest so far."""
    lower_weight: float
    upper_weight: float
    fresh_sd: float


def conditional_coefficients(
    lower: float, variance: float, upper: float | None
) -> tuple[float, float, float]:
    """Weights of B(lower) and B(upper) and the standard deviation of the rest, given both.

    With a < v < b: (b-v)/(b-a), (v-a)/(b-a) and √((v-a)(b-v)/(b-a)); without b: 1, 0 and √(v-a).
    These are the only weights of [li2012, eq. 17] that are not 0, and the root of eq. (18).

    Raises ValueError unless 0 ≤ lower < variance < upper, all finite.
    """
    ceiling = math.inf if upper is None else upper
    if not 0 <= lower < variance < ceiling or upper == math.inf:
        raise ValueError("a noise variance is finite and lies strictly between its neighbours")
    if upper is None:
        return 1.0, 0.0, math.sqrt(variance - lower)
    width = upper - lower
    lower_weight = (upper - variance) / width
    return lower_weight, (variance - lower) / width, math.sqrt((variance - lower) * lower_weight)


def bridges(variances: Sequence[float]) -> tuple[Bridge, ...]:
    """The bridge of every level, in order of arrival: algorithm 3 of li2012 without its matrices.

    O(m log m) comparisons for m levels. The levels that a bridge leads back to are its ancestors in
    the binary search tree that the variances grow in order of arrival: O(log m) of them on average
    when they arrive at random.

    Raises ValueError when a variance is not positive and finite, or occurs twice.
    """
    ascending: list[float] = []
    positions: list[int] = []
    found = []
    for position, variance in enumerate(variances):
        rank = bisect_left(ascending, variance)
        lower = positions[rank - 1] if rank > 0 else None
        upper = positions[rank] if rank < len(positions) else None
        below = 0.0 if lower is None else variances[lower]
        above = None if upper is None else variances[upper]
        weights = conditional_coefficients(below, variance, above)
        found.append(Bridge(lower, upper, *weights))
        ascending.insert(rank, variance)
        positions.insert(rank, position)
    return tuple(found)


def sequential_order(variances: Sequence[float]) -> list[int]:
    """The order in which algorithm 2 of li2012 draws: ascending, so that no row looks upwards.

    B(v_i) = Σ_j √(v_j - v_(j-1))·g_j, j ≤ i, for levels in this order: each copy is the one before it
    plus independent noise [li2012, theorem 5].
    """
    return sorted(range(len(variances)), key=lambda position: variances[position])


TILE_ROWS = 16_384
TILE_VALUES = 2**17  # of all columns together: a wide table has shorter tiles


@dataclass(frozen=True, repr=False)
class PathDraws:
    """All that B at one variance is made of, in one part.

    where:
        history  bridges by position, at least those in `draws_needed`
        target   position of the variance in the history
        keys     draw key of every position in `draws_needed`
        columns  r
    """

    history: Sequence[Bridge] | Mapping[int, Bridge]
    target: int
    keys: Mapping[int, bytes]
    columns: int


@dataclass(frozen=True)
class RowRange:
    """The offsets [first, last) of a block."""

    block: int
    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise ValueError("rows of a block run upwards from 0")


def draws_needed(
    history: Sequence[Bridge] | Mapping[int, Bridge], target: int, known: Mapping[int, object]
) -> list[int]:
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
    draws: PathDraws, rows: RowRange, known: Mapping[int, FloatArray] | None = None
) -> FloatArray:
    """B for some rows of a block, of shape (columns, last - first); `known` as in `path_tiles`."""
    if known is not None and draws.target in known:
        return known[draws.target]
    whole = np.empty((draws.columns, rows.last - rows.first))
    for start, B in path_tiles(draws, rows, known or {}, steps()):
        whole[:, start : start + B.shape[1]] = B
    return whole


def standard_normals(key: bytes, rows: RowRange, columns: int) -> FloatArray:
    """Standard normals of one key for some rows of a block, of shape (columns, last - first)."""
    return path_block(PathDraws(bridges([1.0]), 0, {0: key}, columns), rows)


def path_tiles(
    draws: PathDraws, rows: RowRange, known: Mapping[int, FloatArray], using: Steps
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


def _slots(
    history: Sequence[Bridge] | Mapping[int, Bridge], needed: Sequence[int]
) -> dict[int, int]:
    """Slots for the tiles of positions; a tile that no later one depends on is overwritten.

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
