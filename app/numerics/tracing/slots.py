"""Slots: variances of recipients' own, a little above their level's.

Two slots too near each other could not be told apart, so there are 128 of them, spaced evenly within 1 %
above the level, and each recipient has one of its own: as far from the others', and from the level itself,
as one is free. Copies next to each other are what tracing confuses, so up to 64 recipients are two slots
apart at least.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

SLOTS = 128
WIDTH = 0.01
"""How far above the level's variance the last slot lies, as a share of it."""


def slot_variance(noise_variance: float, slot: int) -> float:
    """The variance of a slot, 1 ≤ slot ≤ 128."""
    if not 1 <= slot <= SLOTS:
        raise ValueError("a slot is a number from 1 to 128")
    return noise_variance * (1 + WIDTH * slot / SLOTS)


def free_slot(taken: Collection[int], rng: np.random.Generator) -> int | None:
    """One of the slots furthest from those that somebody has, at random; None where none is left."""
    used = np.array([0, *taken])
    distances = np.abs(np.arange(1, SLOTS + 1)[:, None] - used).min(axis=1)
    if not distances.any():
        return None
    return int(rng.choice(np.flatnonzero(distances == distances.max()) + 1))
