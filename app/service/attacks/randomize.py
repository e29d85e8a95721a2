"""Single-level additive noise for a table of a request [huang2005, sections 4 and 8.1].

For those who want exactly one disguised table. It has no history: two tables randomized with
different seeds are two independent copies, whose noise an attacker averages away [li2012, theorem 3].
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from app.errors import InvalidTable
from app.numerics.arrays import FloatArray
from app.numerics.copies.grid import carries_noise, grid_exponents, round_to_grid
from app.numerics.copies.noise.keystream import draw_key
from app.numerics.copies.path import RowRange, standard_normals
from app.numerics.covariances import covariance_factor
from app.service.attacks.adversary import IndependentNoise, ProportionalNoise
from app.tables.arrays.numbers import NumberTable, number_table, require_more_rows_than_columns

SEED_BITS = 128


def new_seed() -> int:
    """Random seed; it must stay secret, since the noise can be removed with it."""
    return secrets.randbits(SEED_BITS)


def randomize(
    table: pa.Table,
    noise: IndependentNoise | ProportionalNoise,
    columns: Sequence[str] | None,
    seed: int,
) -> NumberTable:
    """The wanted columns with noise added, rounded to a public grid; other columns do not leave.

    The same table, noise and seed give the same answer. The normals come from the keystream that
    copies use, so that whoever knows some rows cannot work out the noise of others. InvalidTable
    where a column cannot carry the noise: it is constant under noise shaped like the data, or its
    numbers are so large that the noise would be lost to rounding.
    """
    original = number_table(table, "given", columns)
    factor = _noise_factor(original, noise)
    variances: FloatArray = (factor**2).sum(axis=1)
    _require_noise(original, variances)
    key = draw_key(
        hashlib.sha256(b"cornerwave randomize v1" + seed.to_bytes(SEED_BITS // 8, "big")).digest(),
        hashlib.sha256(b"\0".join(name.encode() for name in original.names)).digest(),
        bytes(32),
    )
    normals = standard_normals(key, RowRange(0, 0, len(original.values)), factor.shape[1])
    disguised = np.asfortranarray(original.values + normals.T @ factor.T)
    exponents = grid_exponents(variances, 1.0)
    for j, exponent in enumerate(exponents):
        if not carries_noise(float(np.abs(disguised[:, j]).max()), exponent):
            raise InvalidTable(
                f"the numbers of column {original.names[j]!r} are so large beside the noise that it"
                " would be lost to rounding",
                column=original.names[j],
            )
    round_to_grid(disguised.T, exponents)
    return NumberTable(original.names, disguised)


def _noise_factor(original: NumberTable, noise: IndependentNoise | ProportionalNoise) -> FloatArray:
    """F with F·Fᵀ the covariance of the noise, d × r."""
    if isinstance(noise, IndependentNoise):
        return np.diag(np.full(len(original.names), np.sqrt(noise.noise_variance)))
    require_more_rows_than_columns(original, "given")
    covariance = np.atleast_2d(np.cov(original.values, rowvar=False))
    return covariance_factor(noise.noise_variance * covariance)


def _require_noise(original: NumberTable, variances: FloatArray) -> None:
    for name, variance in zip(original.names, variances, strict=True):
        if not variance > 0:
            raise InvalidTable(
                f"column {name!r} is constant, so noise shaped like the data leaves it as it is;"
                " leave it out",
                column=name,
            )
