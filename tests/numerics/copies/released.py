"""A table and copies of it, as the service makes them, in arrays: the attacks of these tests need no more."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.model import BLOCK_ROWS
from app.numerics.copies.applied import applied_variance
from app.numerics.copies.association import squared_canonical_correlation
from app.numerics.copies.donors import DonorCounts, donor_key, donor_pool
from app.numerics.copies.noise.definition import NO_EVENT
from app.numerics.copies.records import (
    UNLISTED,
    latest_donors,
    record_key,
    show_records,
)
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, shape_factor

Numbers = NDArray[np.float64]
Codes = NDArray[np.int32]

RECORDS = record_key(bytes(32), hashlib.sha256(b"records").digest())


def untouched_records(
    key: bytes, rows: int, columns: int, donors: int, applied: float
) -> NDArray[np.bool_]:
    """Which records of a part no record event has replaced: what no attacker knows, and may be told."""
    found = [
        latest_donors(key, block, 0, min(BLOCK_ROWS, rows - first), columns, donors, applied)[:, 0]
        for block, first in enumerate(range(0, rows, BLOCK_ROWS))
    ]
    return np.asarray(np.concatenate(found) == NO_EVENT)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are released together: numbers (n, d) and codes (n, c)."""

    numbers: Numbers
    codes: Codes

    @property
    def sizes(self) -> list[int]:
        return [int(own.max()) + 1 for own in self.codes.T]

    @cached_property
    def counts(self) -> DonorCounts:
        return DonorCounts.of(self.codes, self.sizes)

    @cached_property
    def listed(self) -> Codes:
        """The codes, UNLISTED where they are of fewer than five rows."""
        shown = [rare[own] for rare, own in zip(self.counts.listed, self.codes.T, strict=True)]
        return np.where(np.column_stack(shown), self.codes, np.int32(UNLISTED))

    @cached_property
    def pool(self) -> Codes:
        return donor_pool(self.counts, donor_key(bytes(32), bytes(32)))

    @cached_property
    def r_squared(self) -> float:
        return squared_canonical_correlation(self.numbers, self.listed, self.sizes)

    @cached_property
    def shape(self) -> Numbers:
        return covariance_shape(row_moments(self.numbers))

    def applied(self, v: float) -> float:
        return applied_variance(v, self.r_squared)

    def records(self, applied: float) -> Codes:
        """The codes of a copy."""
        codes = self.listed.T.copy(order="C")
        show_records(codes, self.pool, applied, key=RECORDS, start=0)
        return codes.T

    def kept(self, applied: float) -> NDArray[np.bool_]:
        """Which records no record event has replaced."""
        rows, columns = self.codes.shape
        return untouched_records(RECORDS, rows, columns, len(self.pool), applied)

    def noisy(self, applied: Sequence[float], seed: int = 1) -> list[Numbers]:
        """The numbers of several copies, of one Brownian path."""
        rng = np.random.default_rng(seed)
        factor, path, before = shape_factor(self.shape), np.zeros_like(self.numbers), 0.0
        found = {}
        for a in sorted(applied):
            path = path + np.sqrt(a - before) * rng.normal(size=path.shape)
            found[a], before = self.numbers + path @ factor.T, a
        return [found[a] for a in applied]
