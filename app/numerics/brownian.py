"""Blocks of the Brownian path behind the copies, evaluated the same way every time [li2012].

A copy is asked for again years later, in another slice, in a process with other blocks at hand, and
must come out bit for bit the same. Floating-point sums depend on their order, so the order is part
of the definition: a value of B(v) is

    (lower_weight·B(lower) + upper_weight·B(upper)) + fresh_sd·g

with every product and sum rounded on its own, terms without a neighbour left out, and B(lower),
B(upper) evaluated likewise. Whether they are computed or come from a cache then cannot matter, nor
can the rows that are computed together with them.

| here | meaning |
| --- | --- |
| history | variances in order of arrival, as `multilevel.bridges`, and the key of each draw |
| r | columns of the path, the rank of the covariance |
| B(v), rows [start, stop) | array of shape (r, stop - start): a column of noise is contiguous |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from app.numerics.multilevel import Bridge
from app.numerics.noise import fill_normals, row_blocks

FloatArray = NDArray[np.float64]


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
    history: Sequence[Bridge],
    keys: Mapping[int, bytes],
    target: int,
    *,
    start: int,
    stop: int,
    columns: int,
    known: Mapping[int, FloatArray] | None = None,
) -> FloatArray:
    """B at the target's variance for the rows [start, stop), of shape (columns, stop - start).

    `keys` holds the draw key of every position in `draws_needed`; `known` holds blocks of other
    positions for the same rows, which are used and never written to.
    """
    known = known or {}
    if target in known:
        return known[target]
    block = np.empty((columns, stop - start))
    positions = draws_needed(history, target, known)
    for first, last in row_blocks(start, stop):
        rows = slice(first - start, last - start)
        for column in range(columns):
            at_hand = {position: values[column, rows] for position, values in known.items()}
            for position in positions:
                values = block[column, rows] if position == target else np.empty(last - first)
                fill_normals(keys[position], column, first, values)
                _bridge(history[position], at_hand, values)
                at_hand[position] = values
    return block


def _bridge(bridge: Bridge, at_hand: Mapping[int, FloatArray], values: FloatArray) -> None:
    """Turn standard normals into the path by the formula at the head of this module.

    A sum of two terms is the same in either order, so the fresh part may come first.
    """
    np.multiply(values, bridge.fresh_sd, out=values)
    if bridge.lower is not None and bridge.upper is not None:
        lower = at_hand[bridge.lower] * bridge.lower_weight
        lower += at_hand[bridge.upper] * bridge.upper_weight
        np.add(lower, values, out=values)
    elif bridge.upper is not None:
        np.add(at_hand[bridge.upper] * bridge.upper_weight, values, out=values)
    elif bridge.lower is not None:
        np.add(at_hand[bridge.lower], values, out=values)  # the weight is 1
