"""Integers that became doubles on the way in, as integers on the way out."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from app.tables.stream import TableStream
from app.tables.values.cells import EXACT

WHOLE = {b"cornerwave.came_as": b"integer"}


def marked_schema(stream: TableStream) -> pa.Schema:
    """The schema of a stream, which remembers the columns that came as integers."""
    whole = {column.name for column in stream.columns if column.whole}
    return pa.schema(
        [field.with_metadata(WHOLE) if field.name in whole else field for field in stream.schema]
    )


def as_it_came(table: pa.Table) -> pa.Table:
    """The table with its columns that came as integers, and still are, written as such."""
    for place, field in enumerate(table.schema):
        if field.metadata == WHOLE and pa.types.is_floating(field.type):
            values = table.column(place)
            if _is_whole(values):
                whole = field.with_type(pa.int64()).remove_metadata()
                table = table.set_column(place, whole, values.cast(pa.int64()))
    return table.replace_schema_metadata(None)


def _is_whole(values: pa.ChunkedArray) -> bool:
    small = pc.all(pc.less_equal(pc.abs(values), EXACT)).as_py()
    return small is not False and pc.all(pc.equal(values, pc.floor(values))).as_py() is not False
