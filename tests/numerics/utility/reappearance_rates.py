"""Records that reappear in a release, exactly and within a distance, as the reports count them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.numerics.tables import MixedTable
from app.numerics.utility.reappearance import ReappearanceShare, equal_records, nearest_distances


@dataclass(frozen=True)
class Reappearance:
    """The share of records with an equal, and with a near, record in the release."""

    exactly: ReappearanceShare
    within_distance: ReappearanceShare
    median_distance: float


def reappearance(
    records: MixedTable, released: MixedTable, *, deviation: NDArray[np.float64], distance: float
) -> Reappearance:
    """The share of `records` that reappear in `released`, in the units of `deviation` (p,)."""
    nearest = nearest_distances(records, released, deviation=deviation)
    return Reappearance(
        equal_records(records, released),
        ReappearanceShare(int((nearest <= distance).sum()), records.records),
        float(np.median(nearest)),
    )
