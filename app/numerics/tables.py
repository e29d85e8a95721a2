"""Mixed tables for the numerics: an array of numbers and an array of category codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import Flags, FloatArray, Places


@dataclass(frozen=True)
class MixedTable:
    """n records: `numeric` (n, p) with NaN for missing, `codes` (n, q) with −1 for missing.

    Column j of `codes` numbers the categories 0 … categories[j] − 1. Two tables that are compared
    must number them alike.
    """

    numeric: FloatArray
    codes: Places
    categories: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.numeric.ndim != 2 or self.codes.ndim != 2:
            raise ValueError("numeric and codes must be matrices")
        if len(self.numeric) != len(self.codes):
            raise ValueError("numeric and codes must have the same number of records")
        if self.codes.shape[1] != len(self.categories):
            raise ValueError("there must be one number of categories for each column of codes")

    @property
    def records(self) -> int:
        return len(self.numeric)

    @property
    def missing(self) -> Flags:
        """Mask of missing cells, (n, p + q), numeric columns first."""
        return np.hstack([np.isnan(self.numeric), self.codes < 0])

    def taken(self, records: Places) -> MixedTable:
        """The given records, in the given order."""
        return MixedTable(self.numeric[records], self.codes[records], self.categories)
