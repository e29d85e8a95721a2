"""Category codes of columns for swapping: integers, and back to columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray, IntArray
from app.numerics.swapping.binning import binned, equal_frequency_edges, equal_width_edges
from app.tables.values.dates import CAME_AS_DATE, as_dates

MOST_BINS = 1_000


@dataclass(frozen=True)
class BinRule:
    """Rule by which a numeric column becomes categories: one of three.

    where:
        equal_frequency  a number of bins that hold about as many rows each
        equal_width      a number of bins of one width
        edges            the borders between the bins; a value on a border belongs above it
    """

    equal_frequency: int | None = None
    equal_width: int | None = None
    edges: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        rules = [self.equal_frequency, self.equal_width, self.edges]
        if sum(rule is not None for rule in rules) != 1:
            raise InvalidParameter(
                "give one of equal_frequency, equal_width and edges for a column",
                parameter="bins",
            )
        bins = self.equal_frequency or self.equal_width
        if self.edges is not None:
            bins = len(self.edges) + 1
            if not (np.all(np.isfinite(self.edges)) and np.all(np.diff(self.edges) > 0)):
                raise InvalidParameter("edges must be finite and increase", parameter="bins")
        if bins is None or not 2 <= bins <= MOST_BINS:
            raise InvalidParameter(
                f"a column can have 2 to {MOST_BINS} bins", parameter="bins", limit=MOST_BINS
            )

    def edges_for(self, values: FloatArray) -> FloatArray:
        """Return the borders for these values."""
        if self.edges is not None:
            return np.array(self.edges, dtype=np.float64)
        if self.equal_width is not None:
            return equal_width_edges(values, self.equal_width)
        assert self.equal_frequency is not None
        return equal_frequency_edges(values, self.equal_frequency)


@dataclass(frozen=True)
class CodedColumn:
    """A column as codes 0 … C - 1, each of which occurs; `values[code]` is the category.

    A missing cell is a category like any other, its value is null.
    """

    name: str
    codes: IntArray
    values: pa.Array

    @property
    def categories(self) -> int:
        """The number of categories C."""
        return len(self.values)

    @property
    def missing(self) -> IntArray:
        """The rows, from 0, in which the cell is missing."""
        null = np.flatnonzero(self.values.is_null().to_numpy(zero_copy_only=False))
        return np.flatnonzero(np.isin(self.codes, null))

    def column(self, codes: IntArray) -> pa.Array:
        """Return these codes as a column."""
        return self.values.take(pa.array(codes))


def coded(table: pa.Table, name: str, bins: BinRule | None = None) -> CodedColumn:
    """Return a column of the table as codes, in the order of its values or bins.

    InvalidParameter for bins of a column that does not hold numbers.
    """
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # what Arrow makes of a table without rows
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if not pa.types.is_floating(column.type):
        if bins is not None:
            raise InvalidParameter(
                f"column {name!r} does not hold numbers, so it has no bins",
                parameter="bins",
                column=name,
            )
        return _coded_text(name, column)
    numbers = column.to_numpy(zero_copy_only=False)
    dated = table.schema.field(name).metadata == CAME_AS_DATE
    if bins is None:
        distinct, codes = np.unique(numbers, return_inverse=True)
        values = pa.array(distinct, from_pandas=True)
        if dated:
            values = as_dates(values).cast(pa.large_string())
        return CodedColumn(name, codes.astype(np.int64), values)
    edges = bins.edges_for(numbers)
    occurring, codes = np.unique(binned(numbers, edges), return_inverse=True)
    labels = pa.array([*_labels(edges, dated=dated), None], pa.large_string())
    return CodedColumn(name, codes.astype(np.int64), labels.take(pa.array(occurring)))


def _coded_text(name: str, column: pa.Array) -> CodedColumn:
    encoded = column.dictionary_encode(null_encoding="encode")
    order = pc.sort_indices(encoded.dictionary).to_numpy(zero_copy_only=False)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    codes = rank[encoded.indices.to_numpy(zero_copy_only=False)]
    return CodedColumn(name, codes, encoded.dictionary.take(pa.array(order)))


def _labels(edges: FloatArray, *, dated: bool) -> list[str]:
    """The bins as half-open intervals."""
    told = (
        as_dates(pa.array(np.ceil(edges))).cast(pa.string()).to_pylist()
        if dated
        else [f"{edge:.12g}" for edge in edges]
    )
    borders = ["-inf", *told, "inf"]
    opening = ["(", *["["] * len(edges)]
    return [
        f"{bracket}{low}, {high})"
        for bracket, low, high in zip(opening, borders[:-1], borders[1:], strict=True)
    ]
