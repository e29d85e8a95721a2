"""Numbers of which many are one and the same value: no gain, forty hours, zero children.

A method that mixes components smears such a value over its neighbours. Where types are enforced it is
kept apart: whether a cell holds it becomes a category, and the number behind it is drawn like a
missing one, from what the other columns say.
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray, Places

LEAST_SHARE = 0.4
"""A value held by fewer of the cells present is one value among others."""


def point_mass(values: FloatArray) -> float | None:
    """The value that at least `LEAST_SHARE` of the cells present, (n,), hold, while others vary.

    None for a column with one value only: it is constant, which every method keeps.
    """
    present = values[~np.isnan(values)]
    candidates, counts = np.unique(present, return_counts=True)
    if candidates.size < 2 or counts.max() < LEAST_SHARE * present.size:
        return None
    return float(candidates[counts.argmax()])


def at_mass(values: FloatArray, mass: float) -> Places:
    """1 where a cell holds the mass, 0 where it holds another number, −1 where it is missing, (n,)."""
    return np.where(np.isnan(values), -1, values == mass).astype(np.intp)
