"""Examples of a preview: cells and distributions of three columns before and after."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np

from app.model import Column, Kind
from app.numerics.arrays import FloatArray
from app.service.copies.generation.sampled_rows import SampledRows
from app.service.copies.preview.report import Example
from app.service.copies.preview.utility import NamedTable
from app.service.datasets.output_columns import numbers_shown

EXAMPLES = 3
CELLS = 5
BINS = 20
MOST_VALUES = 8


def example_columns(before: NamedTable) -> tuple[str, ...]:
    """Three columns, numbers and categories in turn."""
    kinds = [list(before.numbers), list(before.categories)]
    found: list[str] = []
    while len(found) < EXAMPLES and any(kinds):
        found += [kind.pop(0) for kind in kinds if kind]
    return tuple(found[:EXAMPLES])


def examples(rows: SampledRows, before: NamedTable, after: NamedTable) -> tuple[Example, ...]:
    """The example columns of a copy beside the original."""
    columns = {column.name: column for column in rows.columns}
    return tuple(
        _number(columns[name], before, after)
        if name in before.numbers
        else _category(rows, name, before, after)
        for name in example_columns(before)
    )


def _number(column: Column, before: NamedTable, after: NamedTable) -> Example:
    place = before.numbers.index(column.name)
    X, Y = (side.cells.numeric[:, place] for side in (before, after))
    rows = _rows(len(X))
    both = np.concatenate([values[~np.isnan(values)] for values in (X, Y)])
    low, high = (float(both.min()), float(both.max())) if both.size else (0.0, 0.0)
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    return Example(
        column=column.name,
        before=tuple(_text(column, float(X[row])) for row in rows),
        after=tuple(_text(column, float(Y[row])) for row in rows),
        bins=tuple(_text(column, float(edge)) or "" for edge in edges),
        shares_before=_shares(np.histogram(X[~np.isnan(X)], edges)[0]),
        shares_after=_shares(np.histogram(Y[~np.isnan(Y)], edges)[0]),
    )


def _category(sample: SampledRows, name: str, before: NamedTable, after: NamedTable) -> Example:
    place = before.categories.index(name)
    words = sample.values[name].to_pylist()
    X, Y = (side.cells.codes[:, place] for side in (before, after))
    counts = [np.bincount(codes, minlength=len(words)).astype(np.float64) for codes in (X, Y)]
    occurs = np.flatnonzero(counts[0] + counts[1])
    frequent = occurs[np.argsort(-counts[0][occurs], kind="stable")][:MOST_VALUES]
    shares = [np.array(_shares(each)) for each in counts]
    rows = _rows(len(X))
    return Example(
        column=name,
        before=tuple(words[X[row]] for row in rows),
        after=tuple(words[Y[row]] for row in rows),
        bins=tuple("" if words[code] is None else words[code] for code in frequent),
        shares_before=tuple(shares[0][frequent].tolist()),
        shares_after=tuple(shares[1][frequent].tolist()),
    )


def _rows(n: int) -> list[int]:
    """A few rows, spread over the table."""
    return sorted({i * n // CELLS for i in range(CELLS)})


def _shares(counts: FloatArray | np.ndarray) -> tuple[float, ...]:
    return tuple((counts / max(1, int(counts.sum()))).tolist())


def _text(column: Column, value: float) -> str | None:
    if np.isnan(value):
        return None
    if column.kind is Kind.DATETIME:
        shown = numbers_shown(column, np.array([value]), None)
        return str(shown[0].as_py())
    if column.kind is Kind.DATE:
        return (date(1970, 1, 1) + timedelta(days=round(value))).isoformat()
    return f"{value:.6g}"
