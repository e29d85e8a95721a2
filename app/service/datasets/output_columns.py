"""Output columns of a copy: numbers on the grid, within bounds, rounded where the owner asked; categories as text.

Missing cells stay missing. Each step acts on one copy alone.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from app.model import Column, Kind, Storage
from app.numerics.arrays import FloatArray
from app.numerics.copies.grid import bounds_on_grid, whole_numbers, within_bounds
from app.numerics.copies.scales import off_scale, on_scale
from app.tables.values.dates import (
    DAY_SECONDS,
    FIRST_DAY,
    ISO_MOMENT,
    LAST_DAY,
    as_dates,
    as_written,
)


def output_type(column: Column) -> pa.DataType:
    """The Arrow type that a released column has."""
    if column.kind is Kind.CATEGORICAL or column.storage is Storage.TEXT or column.categories:
        return pa.large_string()
    if column.kind is Kind.DATETIME:
        return pa.large_string()
    if column.kind is Kind.DATE:
        return pa.date32()
    if column.kind is Kind.NUMERIC:
        return pa.int64() if column.round_to_integer else pa.float64()
    return pa.int64() if column.integer else pa.float64()


def numbers(values: pa.Array) -> FloatArray:
    """A column of doubles, NaN where a cell is missing."""
    if pa.types.is_float64(values.type):  # filled by Arrow in half of the time
        values = values.fill_null(np.nan)
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def scaled_numbers(column: Column, values: pa.Array) -> FloatArray:
    """A column's numbers on its scale, NaN where a cell is missing."""
    return on_scale(numbers(values), column.scale_unit)


def numbers_shown(column: Column, values: FloatArray, exponent: int | None) -> pa.Array:
    """Perturbed numbers on the column's scale, on the grid of 2^exponent, if on one, as the owner wants them released."""
    if column.scale_unit is not None:
        values, exponent = off_scale(values, column.scale_unit), None
    if column.kind.dated:
        step = 1 if column.kind is Kind.DATE else DAY_SECONDS
        first, last = FIRST_DAY * step, LAST_DAY * step
        if column.lower is not None:
            first = max(first, math.ceil(column.lower))
        if column.upper is not None:
            last = min(last, math.floor(column.upper))
        whole = _integers(within_bounds(np.rint(values), first, last))
        if column.kind is Kind.DATETIME:
            return as_written(whole, column.date_format or ISO_MOMENT)
        return as_dates(whole)
    if not column.round_to_integer:
        bounds = (column.lower, column.upper)
        if exponent is not None:
            bounds = bounds_on_grid(*bounds, exponent)
        return _doubles(within_bounds(values, *bounds))
    lowest = None if column.lower is None else math.ceil(column.lower)
    highest = None if column.upper is None else math.floor(column.upper)
    return _integers(within_bounds(np.rint(values), lowest, highest))


def passed_through(column: Column, original: pa.Array) -> pa.Array:
    """A column that the owner releases as it is; whole numbers are written as such."""
    if column.categories:  # a constant that the owner declared public
        return pa.array([column.categories[0]] * len(original), pa.large_string())
    if output_type(column) == pa.int64():
        return _integers(numbers(original))
    return original


def _doubles(values: FloatArray) -> pa.Array:
    return (
        pa.array(values, mask=missing) if (missing := np.isnan(values)).any() else pa.array(values)
    )


def _integers(values: FloatArray) -> pa.Array:
    whole, missing = whole_numbers(values)
    return pa.array(whole, mask=missing)
