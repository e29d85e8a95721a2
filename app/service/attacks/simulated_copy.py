"""Copies that were never issued, simulated from the law of those that are, under draws thrown away.

Noise has the shapes as they are or would be, and records are kept or replaced by those of a donor. One set
of draws serves every level, as in what is issued: what differs between two levels is not chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from app.model import Column
from app.numerics.arrays import FloatArray, Places
from app.numerics.copies.applied import applied_variance
from app.numerics.copies.association import squared_canonical_correlation
from app.numerics.copies.records import kept_share
from app.numerics.copies.shapes.shape import shape_factor
from app.service.attacks.released_sample import (
    Copied,
    OriginalRows,
    code_sizes,
    copied_rows,
    number_matrix,
    record_codes,
)
from app.service.copies.typed_output import numbers_shown


@dataclass(frozen=True, repr=False)
class Draws:
    """What n rows draw: d standard normals each, a uniform that decides on its record, and a donor."""

    normals: FloatArray
    uniforms: FloatArray
    donors: Places


@dataclass(frozen=True, repr=False)
class Simulated:
    """A copy; `sources` (n,) are the rows whose records are shown, a row itself where its own is kept."""

    copied: Copied
    sources: Places


def new_draws(original: OriginalRows, rng: np.random.Generator) -> Draws:
    """Draws for these rows; donors are among them."""
    n = original.table.num_rows
    normals = rng.normal(size=(n, len(original.numbers)))
    return Draws(normals, rng.random(n), rng.integers(n, size=n))


def simulated_rows(original: OriginalRows, variance: float, rng: np.random.Generator) -> Copied:
    """The rows in a copy that promises this variance."""
    values = number_matrix(original.table, original.numbers)
    codes = record_codes(original.table, original.records)
    found = squared_canonical_correlation(values, codes, code_sizes(codes))
    applied = applied_variance(variance, max([found, *original.r_squared.values()]))
    return simulated_copy(original, applied, new_draws(original, rng)).copied


def simulated_copy(original: OriginalRows, applied: float, draws: Draws) -> Simulated:
    """The rows in a copy drawn at an applied variance, rounded and bounded as the owner asked."""
    released = number_matrix(original.table, original.numbers)
    for group, shape in original.shapes.items():
        there = original.groups == group
        noise = np.sqrt(applied) * draws.normals[there] @ shape_factor(shape).T
        released[there] += noise
    by_name = {column.name: column for column in original.columns}
    for place, name in enumerate(original.numbers):
        released[:, place] = numbers_released(by_name[name], released[:, place])
    kept = draws.uniforms < kept_share(applied)
    sources = np.where(kept, np.arange(len(kept)), draws.donors)
    codes = record_codes(original.table, original.records)
    noise = dict.fromkeys(original.shapes, applied)
    copied = copied_rows(original, released, codes, codes[sources], noise, kept)
    return Simulated(copied, sources)


def numbers_released(column: Column, values: FloatArray) -> FloatArray:
    """Perturbed numbers as they leave, but for the grid, which is far finer than the noise."""
    shown = numbers_shown(column, values, None)
    days = shown.cast(pa.int32()) if pa.types.is_date32(shown.type) else shown
    numbers = days.cast(pa.float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
