"""Numeric tables for the stateless methods, validated before any arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import FloatArray

LARGEST_NUMBER, SMALLEST_SPREAD = 1e50, 1e-50
"""Within these, products of several numbers and ratios of their squares remain doubles."""


@dataclass(frozen=True, repr=False)
class NumberTable:
    """Named columns of numbers without gaps: `values` is n × d."""

    names: tuple[str, ...]
    values: FloatArray

    def as_arrow(self) -> pa.Table:
        """Return the table as Arrow."""
        return pa.table(
            {name: self.values[:, j] for j, name in enumerate(self.names)},
            schema=pa.schema([(name, pa.float64()) for name in self.names]),
        )


def number_table(table: pa.Table, what: str, columns: Sequence[str] | None = None) -> NumberTable:
    """Return the named columns of a table (all by default), in that order.

    InvalidTable for a column that is missing, not numeric, has gaps or numbers too large to square,
    and for a table without rows; `what` names the table in the message.
    """
    names = tuple(table.column_names if columns is None else columns)
    if not names or len(set(names)) < len(names):
        raise InvalidParameter("name each column once, and at least one", parameter="columns")
    if table.num_rows == 0:
        raise InvalidTable(f"the {what} table has no rows", table=what)
    return NumberTable(names, np.column_stack([_numbers(table, name, what) for name in names]))


def require_more_rows_than_columns(table: NumberTable, what: str) -> None:
    """InvalidTable unless there are more rows than columns, as a covariance needs."""
    n, d = table.values.shape
    if n <= d:
        raise InvalidTable(
            f"the {what} table has {n} rows for {d} columns; a covariance needs more rows than"
            " columns",
            table=what,
            rows=n,
            columns=d,
        )


def _numbers(table: pa.Table, name: str, what: str) -> FloatArray:
    if name not in table.column_names:
        raise InvalidTable(f"the {what} table has no column {name!r}", table=what, column=name)
    values = table.column(name)
    if not pa.types.is_floating(values.type):
        raise InvalidTable(
            f"column {name!r} of the {what} table is not numeric", table=what, column=name
        )
    if values.null_count:
        row = pc.index(pc.is_null(values), True).as_py() + 1
        raise InvalidTable(
            f"column {name!r} of the {what} table has no value in row {row}",
            table=what,
            column=name,
            row=row,
        )
    numbers: FloatArray = values.to_numpy()
    if np.abs(numbers).max() > LARGEST_NUMBER:
        raise InvalidTable(
            f"column {name!r} of the {what} table has a number beyond ±{LARGEST_NUMBER:g}",
            table=what,
            column=name,
        )
    if 0 < np.ptp(numbers) < SMALLEST_SPREAD:
        raise InvalidTable(
            f"the numbers of column {name!r} of the {what} table differ by less than"
            f" {SMALLEST_SPREAD:g}",
            table=what,
            column=name,
        )
    return numbers
