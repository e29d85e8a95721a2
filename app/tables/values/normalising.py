"""Batches of any Arrow types in, a table stream of doubles and text out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

import pyarrow as pa

from app.errors import InvalidTable, TooLarge
from app.model import BLOCK_ROWS, Limits, Storage
from app.tables.stream import TableColumn, TableStream
from app.tables.values.cells import converted, inferred_storage
from app.tables.values.plain import plain_type
from app.tables.values.units import PLAIN

UNREADABLE = (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError)
"""What Arrow raises over bytes that are not what they should be."""


def normalised(
    batches: Iterator[pa.RecordBatch],
    limits: Limits,
    wished: Mapping[str, Storage],
    release: Callable[[], None] = lambda: None,
) -> TableStream:
    """The stream of `batches`, whose first one with rows decides how each column is kept."""
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        raise InvalidTable("The table has no rows")
    columns = tuple(
        _column(field.name, values, wished)
        for field, values in zip(first.schema, first.columns, strict=True)
    )
    rows = _normalised(chain([first], batches), columns, limits, frozenset(wished))
    return TableStream(columns, rows, release)


def _column(name: str, values: pa.Array, wished: Mapping[str, Storage]) -> TableColumn:
    suggested = inferred_storage(
        name, values
    )  # also where a wish overrides it: not every type will do
    storage, empty = wished.get(name, suggested), values.null_count == len(values)
    return TableColumn(
        name,
        storage,
        empty=empty,
        whole=bool(pa.types.is_integer(plain_type(values.type))),
        unit=PLAIN if storage is Storage.NUMBER and not empty else None,
    )


def _normalised(
    batches: Iterator[pa.RecordBatch],
    columns: tuple[TableColumn, ...],
    limits: Limits,
    wished: frozenset[str],
) -> Iterator[pa.RecordBatch]:
    names = [column.name for column in columns]
    first_row, unpacked = 1, 0
    for batch in batches:
        for start in range(0, batch.num_rows, BLOCK_ROWS):
            part = batch.slice(start, BLOCK_ROWS)
            arrays = [
                converted(values, column, first_row, wished=column.name in wished)
                for values, column in zip(part.columns, columns, strict=True)
            ]
            unpacked += sum(array.nbytes for array in arrays)
            # A column of one value in a billion rows is a few bytes on the wire.
            if unpacked > limits.upload_bytes:
                raise TooLarge(
                    f"The table unpacks to more than {limits.upload_bytes} bytes",
                    limit_bytes=limits.upload_bytes,
                )
            yield pa.RecordBatch.from_arrays(arrays, names=names)
            first_row += part.num_rows
