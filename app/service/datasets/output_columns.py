"""Columns as they leave: numbers on the grid, within bounds, whole where the owner asked; the rest as
it is. Missing cells stay missing. Each acts on one copy alone."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from app.model import Column, Kind, Storage
from app.numerics.arrays import FloatArray
from app.numerics.copies.grid import bounds_on_grid, whole_numbers, within_bounds
from app.numerics.copies.scales import off_scale, on_scale
from app.tables.values.dates import FIRST_DAY, LAST_DAY, as_dates


def output_type(column: Column) -> pa.DataType:
    """The Arrow type that a released column has."""
    if column.kind is Kind.CATEGORICAL or column.storage is Storage.TEXT:
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
    if column.kind is Kind.DATE:
        first = FIRST_DAY if column.lower is None else max(FIRST_DAY, math.ceil(column.lower))
        last = LAST_DAY if column.upper is None else min(LAST_DAY, math.floor(column.upper))
        return as_dates(_integers(within_bounds(np.rint(values), first, last)))
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
