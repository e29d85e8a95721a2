"""Tables with categories, and their copies, for attackers who pool them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tests.example_tables import census, scikit_learn
from tests.numerics.copies.released import Codes, Numbers, Part

ROWS = 12_000
POOLS = [(0.5, 1.0), (0.5, 1.0, 2.0, 4.0)]
"""Nominal variances of the copies that are pooled, best first."""


@dataclass(frozen=True)
class Copies:
    """Numbers (n, d) and codes (n, c) of some copies, best first."""

    numbers: list[Numbers]
    records: list[Codes]

    @property
    def best(self) -> Copies:
        return Copies(self.numbers[:1], self.records[:1])


def coded(cells: NDArray[np.str_]) -> Codes:
    return np.unique(cells, return_inverse=True)[1].astype(np.int32)


def people() -> Part:
    """The generated census: three of its numbers, one of them determined by a category, and five categories."""
    records = census(ROWS)
    cells = dict(zip(records[0], np.array(records[1:]).T, strict=True))
    numbers = ("education_num", "age", "hours_per_week")
    categories = ("marital_status", "education", "relationship", "sex", "income")
    return Part(
        np.column_stack([cells[name].astype(float) for name in numbers]),
        np.column_stack([coded(cells[name]) for name in categories]),
    )


def flowers() -> Part:
    """Iris with class and binned width of petals; each flower 80 times, so that trees know all of them."""
    cells = np.array(scikit_learn("iris")[1:])
    flower = np.random.default_rng(3).permutation(np.arange(ROWS) % len(cells))
    width = np.digitize(cells[:, 3].astype(float), [0.5, 1.4, 1.9])
    codes = np.column_stack([coded(cells[:, 4]), coded(width)])
    return Part(cells[flower][:, [2, 0, 1]].astype(float), codes[flower])


def profiles() -> Part:
    """Two categories tell most of two numbers."""
    rng = np.random.default_rng(1)
    first = rng.choice(3, ROWS, p=[0.5, 0.3, 0.2])
    second = np.where(rng.random(ROWS) < 0.75, first == 0, rng.integers(0, 2, ROWS))
    means = np.array([[0.0, 2.0], [-1.0, 1.0], [3.0, 0.0]])[first]
    means[:, 1] += second
    codes = np.column_stack([first, second]).astype(np.int32)
    return Part(means + 0.4 * rng.normal(size=means.shape), codes)


TABLES: dict[str, Callable[[], Part]] = {
    "census": people,
    "iris": flowers,
    "profiles": profiles,
}


@cache
def table(name: str) -> Part:
    return TABLES[name]()


def with_one_donor(
    codes: Codes, donors: Codes, applied: Sequence[float], seed: int = 2
) -> list[Codes]:
    """Records by one uniform and one of the donors for all copies."""
    rng = np.random.default_rng(seed)
    rows = len(codes)
    u, found = rng.random(rows), donors[rng.integers(0, len(donors), rows)]
    return [np.where((u < 1 / (1 + a))[:, None], codes, found) for a in applied]
