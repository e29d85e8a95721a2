"""Identifier columns of a table, as a registration infers them, and the table without them."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidParameter
from app.model import Kind, Limits, Storage
from app.tables.columns import ColumnProfiler, inferred_column
from app.tables.stream import TableColumn
from app.tables.values.dates import CAME_AS_DATE


def identifiers(table: pa.Table, limits: Limits) -> dict[str, str]:
    """Return the identifier columns that have values, each with the reason."""
    found = {}
    for field, values in zip(table.schema, table.columns, strict=True):
        number = pa.types.is_floating(field.type)
        column = TableColumn(
            field.name,
            Storage.NUMBER if number else Storage.TEXT,
            date_format="%Y-%m-%d" if field.metadata == CAME_AS_DATE else None,
        )
        profiler = ColumnProfiler(column, limits.categories)
        for chunk in values.chunks:
            profiler.add(chunk)
        whole = number and pc.all(pc.equal(values, pc.floor(values))).as_py() is not False
        inferred = inferred_column(
            column, profiler.profile(), None, limits.categories, integer=whole
        )
        if inferred.kind is Kind.IDENTIFIER and values.null_count < len(values):
            found[field.name] = inferred.reason
    return found


def without_identifiers(
    table: pa.Table, limits: Limits, keep: Collection[str]
) -> tuple[pa.Table, dict[str, str]]:
    """Return the table without identifier columns not in `keep`, and those left out with the reason.

    InvalidParameter for a column to keep that is not there.
    """
    for name in keep:
        if name not in table.column_names:
            raise InvalidParameter(
                f"The table has no column {name!r}.", parameter="keep", column=name
            )
    left_out = {
        name: reason for name, reason in identifiers(table, limits).items() if name not in keep
    }
    return table.drop_columns(list(left_out)), left_out


def left_out_note(left_out: Collection[str]) -> str:
    """Note on columns that were left out."""
    return f"Identifiers, left out: {', '.join(left_out)}."
