"""How columns go together, pair by pair, whatever they hold: correlation, η or Cramér's V, as the pair asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.numerics.arrays import Codes, FloatArray
from app.numerics.copies.attenuation import correlation, correlation_ratio
from app.numerics.utility.association import cramers_v


@dataclass(frozen=True)
class Paired:
    """A column for its associations: numbers (n,), NaN where missing, or codes (n,) of so many categories."""

    numbers: FloatArray | None
    codes: Codes
    categories: int

    @classmethod
    def of_numbers(cls, numbers: FloatArray) -> Paired:
        return cls(numbers, np.empty(0, np.int32), 0)

    @classmethod
    def of_codes(cls, codes: Codes, categories: int) -> Paired:
        return cls(None, codes, categories)


def associations(columns: Sequence[Paired]) -> FloatArray:
    """The association of each column with each, (c, c), 1 on the diagonal; NaN where undefined."""
    found = np.eye(len(columns))
    for i, first in enumerate(columns):
        for j, second in enumerate(columns[:i]):
            found[i, j] = found[j, i] = _association(first, second)
    return found


def _association(first: Paired, second: Paired) -> float:
    if first.numbers is not None and second.numbers is not None:
        return correlation(first.numbers, second.numbers)
    if first.numbers is not None:
        return correlation_ratio(first.numbers, second.codes)
    if second.numbers is not None:
        return correlation_ratio(second.numbers, first.codes)
    codes = first.codes.astype(np.intp), second.codes.astype(np.intp)
    return cramers_v(*codes, first.categories, second.categories)
