"""Copies by the law of those that are issued, and by schemes that leak, for attacks to be tried on.

Records are drawn here by the times of their events, not by the keystream's products: the law written again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.numerics.attacks.releases.posterior_mean import PartNoiseLaw
from app.numerics.attacks.releases.released_rows import PassthroughColumns, ReleasedRows
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape

Matrix = NDArray[np.float64]
Codes = NDArray[np.int32]

NO_RECORDS = np.empty((0, 0), np.int32)


def jumped(codes: Codes, donors: Codes, variance: float, rng: np.random.Generator) -> Codes:
    """Records at an applied variance: the latest event before s = ln(1+a), record events at rate 1, column events at ¼."""
    n, c = codes.shape
    s = np.log1p(variance)
    record = rng.exponential(size=(n, 1))  # back from s to the latest event
    column = rng.exponential(4.0, (n, c))
    fresh = donors[rng.integers(len(donors), size=n)]
    cells = donors[rng.integers(len(donors), size=(n, c)), np.arange(c)]
    shown = np.where(record < s, fresh, codes)
    return np.where((column < s) & (column < record), cells, shown).astype(np.int32)


def swapped(codes: Codes, _: Codes, variance: float, rng: np.random.Generator) -> Codes:
    """Records kept whole or replaced by another person's: what was issued before donors came from a model."""
    n = len(codes)
    kept = rng.random((n, 1)) < 1 / (1 + variance)
    return np.where(kept, codes, codes[rng.integers(n, size=n)])


def released(
    numbers: Matrix,
    codes: Codes | None,
    variance: float,
    rng: np.random.Generator,
    *,
    records: object = jumped,
    noise: float = 1.0,
    draws: int = 1,
    starts: Sequence[int] = (),
) -> ReleasedRows:
    """A copy at an applied variance, whose parts begin at the rows `starts`; donors have independent columns.

    `noise` is what the standard deviation of the noise is times that of the law.
    """
    n, d = numbers.shape
    codes = np.empty((n, 0), np.int32) if codes is None else codes
    parts = np.searchsorted(np.array([0, *starts]), np.arange(n), side="right") - 1
    shapes = [
        covariance_shape(row_moments(numbers[parts == one])) for one in range(len(starts) + 1)
    ]
    donors = (
        np.column_stack([rng.permutation(column) for column in codes.T])
        if codes.size
        else NO_RECORDS
    )
    laws = {part: PartNoiseLaw(variance, S, donors) for part, S in enumerate(shapes)}
    own = np.tile(np.arange(n), draws)
    added = np.empty((n * draws, d))
    for part, S in enumerate(shapes):
        there = parts[own] == part
        added[there] = normals(int(there.sum()), variance * S, rng) * noise
    replace = records if callable(records) else jumped
    shown = replace(codes[own], donors, variance, rng) if codes.size else codes[own]
    return ReleasedRows(
        names=tuple(f"x{j}" for j in range(d)),
        numbers=numbers,
        category_names=tuple(f"c{j}" for j in range(codes.shape[1])),
        categories=tuple(
            tuple(f"value {code}" for code in range(int(column.max(initial=0)) + 1))
            for column in codes.T
        ),
        codes=codes,
        parts=parts,
        laws=laws,
        released=numbers[own] + added,
        shown=shown,
        own=own,
        runs=np.zeros(n, np.intp),
        passthrough=PassthroughColumns((), np.empty((n, 0)), np.empty((n, 0), np.int32)),
    )


def normals(n: int, covariance: Matrix, rng: np.random.Generator) -> Matrix:
    """n rows of noise with this covariance, which may be singular."""
    unit = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    values, U = np.linalg.eigh(covariance / np.outer(unit, unit))
    noise = (rng.normal(size=(n, len(covariance))) * np.sqrt(np.maximum(values, 0.0))) @ U.T
    return np.asarray(noise * unit)
