"""Comparison of two tables: distribution of each column, association of each pair.

Numbers are counted on the bins of the first table, with what lies beyond them in the outermost ones, so that the
shares of both add up. From more rows than `SAMPLED` only a part spread evenly over them is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from app.numerics.arrays import FloatArray
from app.numerics.deconvolution.bins import uniform_edges
from app.numerics.utility.association import MOST_CATEGORIES
from app.numerics.utility.pairs import PairedColumn, associations

SAMPLED = 50_000
BINS = 40
CATEGORIES = 12
MOST_COLUMNS = 30
"""Columns that are shown; of wider tables the first ones."""


@dataclass(frozen=True)
class NumberComparison:
    """Shares (K,) of a column of numbers between edges (K+1,), in both tables."""

    name: str
    edges: FloatArray
    before: FloatArray
    after: FloatArray


@dataclass(frozen=True)
class CategoryComparison:
    """Shares of the most frequent categories in both tables."""

    name: str
    names: tuple[str, ...]
    before: FloatArray
    after: FloatArray


@dataclass(frozen=True)
class SideBySide:
    """Columns that both tables have, and their associations, (c, c); NaN where undefined."""

    columns: tuple[NumberComparison | CategoryComparison, ...]
    names: tuple[str, ...]
    before: FloatArray
    after: FloatArray


def side_by_side(before: pa.Table, after: pa.Table) -> SideBySide:
    """The columns that `after` has, as they were and as they are."""
    first, second = _spread(before), _spread(after)
    shared = [name for name in second.column_names if name in first.column_names][:MOST_COLUMNS]
    pairs = [(name, *_alike(first.column(name), second.column(name))) for name in shared]
    columns = [_beside(name, old, new) for name, old, new in pairs]
    coded = [
        (name, _paired(old), _paired(new))
        for name, old, new in pairs
        if _varied(old) and _varied(new)
    ]
    return SideBySide(
        tuple(column for column in columns if column is not None),
        tuple(name for name, _, _ in coded),
        associations([old for _, old, _ in coded]),
        associations([new for _, _, new in coded]),
    )


def _spread(table: pa.Table) -> pa.Table:
    if table.num_rows <= SAMPLED:
        return table
    return table.take(np.linspace(0, table.num_rows - 1, SAMPLED).astype(np.int64))


def _alike(old: pa.ChunkedArray, new: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Both as numbers, or, where one of them is none, both as text."""
    if all(_numeric(values.type) for values in (old, new)):
        return _numbers(old), _numbers(new)
    return old.cast(pa.large_string()), new.cast(pa.large_string())


def _numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_date32(kind))


def _numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as doubles; a date is a number of days."""
    return (values.cast(pa.int32()) if pa.types.is_date32(values.type) else values).cast(
        pa.float64()
    )


def _beside(
    name: str, old: pa.ChunkedArray, new: pa.ChunkedArray
) -> NumberComparison | CategoryComparison | None:
    if pa.types.is_floating(old.type):
        before, after = (_present(values) for values in (old, new))
        if not before.size or before.min() == before.max():
            return None
        edges = uniform_edges(float(before.min()), float(before.max()), BINS)
        shares = [
            np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / max(values.size, 1)
            for values in (before, after)
        ]
        return NumberComparison(name, edges, *shares)
    counted = [_counted(values) for values in (old, new)]
    names = sorted(counted[0], key=lambda one: (-counted[0][one], one))[:CATEGORIES]
    shares = [np.array([of.get(one, 0.0) for one in names]) for of in counted]
    return CategoryComparison(name, tuple(names), *shares) if names else None


def _present(values: pa.ChunkedArray) -> FloatArray:
    floats = np.asarray(values.drop_null().to_numpy(), dtype=np.float64)
    return floats[~np.isnan(floats)]


def _counted(values: pa.ChunkedArray) -> dict[str, float]:
    there = values.drop_null()
    return {
        entry["values"]: entry["counts"] / max(len(there), 1)
        for entry in there.value_counts().to_pylist()
    }


def _varied(values: pa.ChunkedArray) -> bool:
    if pa.types.is_floating(values.type):
        return True
    return 2 <= len(values.drop_null().unique()) <= MOST_CATEGORIES


def _paired(values: pa.ChunkedArray) -> PairedColumn:
    """As `PairedColumn`; a missing category is one among the others."""
    if pa.types.is_floating(values.type):
        return PairedColumn.of_numbers(np.asarray(values.to_numpy(), np.float64))
    coded = values.combine_chunks().dictionary_encode(null_encoding="encode")
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return PairedColumn.of_codes(codes, len(coded.dictionary))
