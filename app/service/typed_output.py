"""Columns as they leave: numbers on the grid, within bounds, whole where the owner asked; categories
redrawn; the rest as it is. Missing cells stay missing. Each acts on one copy alone."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.model import Column, Kind, Storage
from app.numerics.grid import bounds_on_grid, whole_numbers, within_bounds
from app.numerics.retention import MISSING, UNLISTED, retained
from app.service.table_stream import category_text

FloatArray = NDArray[np.float64]


def output_type(column: Column) -> pa.DataType:
    """The Arrow type that a released column has."""
    if column.kind is Kind.CATEGORICAL or column.storage is Storage.TEXT:
        return pa.large_string()
    if column.kind is Kind.NUMERIC:
        return pa.int64() if column.round_to_integer else pa.float64()
    return pa.int64() if column.integer else pa.float64()


def numbers(values: pa.Array) -> FloatArray:
    """A column of doubles, NaN where a cell is missing."""
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def numbers_shown(column: Column, values: FloatArray, exponent: int) -> pa.Array:
    """Perturbed numbers on the grid of 2^exponent as the owner wants them released."""
    if not column.round_to_integer:
        return _doubles(
            within_bounds(values, *bounds_on_grid(column.lower, column.upper, exponent))
        )
    lowest = None if column.lower is None else math.ceil(column.lower)
    highest = None if column.upper is None else math.floor(column.upper)
    return _integers(within_bounds(np.rint(values), lowest, highest))


def passed_through(column: Column, original: pa.Array) -> pa.Array:
    """A column that the owner releases as it is; whole numbers are written as such."""
    if output_type(column) == pa.int64():
        return _integers(numbers(original))
    return original


def categories_shown(
    original: pa.Array,
    counts: Mapping[str, int],
    variance: float,
    *,
    key: bytes,
    column: int,
    start: int,
) -> pa.Array:
    """Categories of the rows from `start` on, kept or redrawn from the frozen counts.

    One that came after the first copy is always redrawn: no redraw yields it, so that showing it
    would tell the truth for certain.
    """
    texts = category_text(original)
    frozen = pa.array(counts.keys(), pa.large_string())
    marginal = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    listed = pc.fill_null(pc.index_in(texts, value_set=frozen), UNLISTED)
    codes = pc.if_else(pc.is_null(texts), MISSING, listed).to_numpy(zero_copy_only=False)
    shown = retained(
        codes.astype(np.int32), marginal, variance, key=key, column=column, start=start
    )
    return frozen.take(pa.array(shown, mask=shown == MISSING))


def _doubles(values: FloatArray) -> pa.Array:
    return (
        pa.array(values, mask=missing) if (missing := np.isnan(values)).any() else pa.array(values)
    )


def _integers(values: FloatArray) -> pa.Array:
    whole, missing = whole_numbers(values)
    return pa.array(whole, mask=missing)
