"""Arrow columns of any type as doubles and text, refusing what neither can hold.

A dictionary or a view may repeat one long text in a few bytes for each row; written out, 65,536 rows of a text of
1 MiB are 64 GiB. The size is computed before anything is written out. Integers become doubles here, and integers again
when they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.errors import DomainError, InvalidParameter, InvalidTable, TooLarge
from app.model import BLOCK_ROWS, Limits, Storage
from app.tables.stream import ARROW_TYPE, DetectedFormat, ReadOptions, TableColumn, TableStream
from app.tables.values.dates import CAME_AS_DATE, as_dates
from app.tables.values.units import PLAIN

LONGEST_NAME = 200
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
EXACT = 2**53 - 1
"""Integers up to here are doubles, and no other integer has the same double."""

TEXT_BYTES = 256 * 2**20
"""Texts of a column in one block of rows."""

UNREADABLE = (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError)
"""What Arrow raises over malformed bytes."""

NUMBER, TEXT = ARROW_TYPE[Storage.NUMBER], ARROW_TYPE[Storage.TEXT]


def refuse_many_columns(columns: int, limits: Limits) -> None:
    """InvalidTable for more columns than a table may have."""
    if columns > limits.columns:
        raise InvalidTable(
            f"The table has {columns} columns; {limits.columns} are allowed",
            columns=columns,
            limit=limits.columns,
        )


def checked_names(names: list[str], limits: Limits) -> None:
    """InvalidTable unless the names are few enough, readable and all different."""
    if not names:
        raise InvalidTable("The table has no columns")
    refuse_many_columns(len(names), limits)
    seen: set[str] = set()
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InvalidTable(
                f"Column {position} has no name. Where one is written over several columns, give each "
                "its own",
                position=position,
            )
        if len(name) > LONGEST_NAME or CONTROL.search(name):
            raise InvalidTable(
                f"The name of column {position} has control characters or more than "
                f"{LONGEST_NAME} characters",
                position=position,
            )
        if name in seen:
            raise InvalidTable(f"More than one column is called {name!r}", column=name)
        seen.add(name)


def normalised(
    batches: Iterator[pa.RecordBatch],
    read_as: DetectedFormat,
    limits: Limits,
    options: ReadOptions,
) -> TableStream:
    """The stream of `batches`, whose first one with rows decides how each column is stored."""
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        raise InvalidTable("The table has no rows")
    columns = tuple(
        _column(name, values, options)
        for name, values in zip(first.schema.names, first.columns, strict=True)
    )
    rows = _normalised_batches(chain([first], batches), columns, limits, options)
    close = getattr(batches, "close", lambda: None)
    return TableStream(columns, rows, close, read_as, left_out=options.skip_rows)


def _column(name: str, values: pa.Array, options: ReadOptions) -> TableColumn:
    inferred = inferred_storage(name, values)  # not every type can be overridden
    storage, empty = options.storage.get(name, inferred), values.null_count == len(values)
    return TableColumn(
        name,
        storage,
        empty=empty,
        whole=bool(pa.types.is_integer(plain_type(values.type))),
        unit=PLAIN if storage is Storage.NUMBER and not empty else None,
    )


def _normalised_batches(
    batches: Iterator[pa.RecordBatch],
    columns: tuple[TableColumn, ...],
    limits: Limits,
    options: ReadOptions,
) -> Iterator[pa.RecordBatch]:
    names = [column.name for column in columns]
    first_row, unpacked = 1, 0
    for batch in batches:
        for start in range(0, batch.num_rows, BLOCK_ROWS):
            part = batch.slice(start, BLOCK_ROWS)
            arrays = [
                converted(values, column, first_row, overridden=column.name in options.storage)
                for values, column in zip(part.columns, columns, strict=True)
            ]
            unpacked += sum(array.nbytes for array in arrays)
            # A column of one value in a billion rows is a few bytes as it arrives.
            if unpacked > limits.upload_bytes:
                raise TooLarge(
                    f"The table unpacks to more than {limits.upload_bytes} bytes",
                    limit_bytes=limits.upload_bytes,
                )
            rows = pa.RecordBatch.from_arrays(arrays, names=names)
            out = [row - first_row for row in options.skip_rows]
            if any(0 <= place < part.num_rows for place in out):
                rows = rows.filter(pa.array([at not in out for at in range(part.num_rows)]))
            yield rows
            first_row += part.num_rows


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values behind extension types and dictionaries."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    """Return whether the type is one of Arrow's three for text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def plain(values: pa.Array, name: str) -> pa.Array:
    """The values themselves, texts as large strings; TooLarge when they take too much."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if not pa.types.is_dictionary(values.type):
        return _written_out(values, name)
    distinct = _written_out(values.dictionary, name)
    if is_text(distinct.type):
        lengths = pc.binary_length(distinct).take(values.indices)
        _refuse_long_texts(pc.sum(lengths).as_py() or 0, name)
    return distinct.take(values.indices)


def _written_out(values: pa.Array, name: str) -> pa.Array:
    if not is_text(values.type):
        return values
    if pa.types.is_string_view(values.type):
        # A view is 16 bytes, of which the first four are the length; that of a null may be any.
        views = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, 4)
        lengths = views[values.offset : values.offset + len(values), 0].astype(np.int64)
        present = values.is_valid().to_numpy(zero_copy_only=False)
        _refuse_long_texts(int(lengths[present].sum()), name)
    return values.cast(TEXT)


def _refuse_long_texts(size: int, name: str) -> None:
    if size > TEXT_BYTES:
        raise TooLarge(
            f"The texts of column {name!r} take more than {TEXT_BYTES} bytes in a block of rows",
            column=name,
            limit_bytes=TEXT_BYTES,
        )


def inferred_storage(name: str, values: pa.Array) -> Storage:
    """Number for integers, decimals and floats; text for the rest, and for integers beyond 2⁵³."""
    kind = plain_type(values.type)
    if pa.types.is_integer(kind):
        return Storage.TEXT if first_inexact(plain(values, name)) is not None else Storage.NUMBER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Storage.NUMBER
    # Truth values and moments have one usual spelling.
    if is_text(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind) or _is_moment(kind):
        return Storage.TEXT
    raise InvalidTable(
        f"Column {name!r} is of the type {kind}, which is neither number nor text", column=name
    )


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind))


def converted(
    values: pa.Array, column: TableColumn, first_row: int, *, overridden: bool
) -> pa.Array:
    """The values as doubles or text, missing ones null; `first_row` is the number of the first.

    Other values are an InvalidTable, or an InvalidParameter where the caller asked for the storage.
    """
    unwrapped = plain(values, column.name)
    if column.storage is Storage.TEXT:
        return without_empty(_as_text(unwrapped))
    if pa.types.is_integer(unwrapped.type) and (at := first_inexact(unwrapped)) is not None:
        raise inexact(column.name, first_row + at)
    numbers = _as_numbers(unwrapped, column.name, first_row, overridden=overridden)
    refuse_not_finite(numbers, column.name, first_row)
    return numbers


def without_empty(texts: pa.Array) -> pa.Array:
    """The texts with the empty ones missing: CSV cannot tell the two apart, so no format does."""
    empty = pc.equal(texts, "")
    return pc.if_else(empty, pa.scalar(None, texts.type), texts) if pc.any(empty).as_py() else texts


def refuse_not_finite(numbers: pa.Array, name: str, first_row: int) -> None:
    """InvalidTable for the first NaN or infinity."""
    finite = pc.is_finite(numbers)
    if pc.all(finite).as_py() is False:
        raise not_finite(name, first_row + pc.index(finite, False).as_py())


def not_finite(name: str, row: int, words: Sequence[str] = ()) -> InvalidTable:
    """The error for NaN or an infinity; `words` are the texts that say NaN, if all of these numbers are."""
    return InvalidTable(
        f"Column {name!r} has NaN or an infinity in row {row}; leave the cell empty (null) "
        "where a number is missing",
        column=name,
        row=row,
        parameters={"missing": list(words)} if words else None,
    )


def first_inexact(numbers: pa.Array) -> int | None:
    """The position of the first number beyond 2⁵³."""
    bounds = pc.min_max(numbers)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is None or (low >= -EXACT and high <= EXACT):
        return None
    sides = []  # only those in which some number lies: an unsigned type has no other
    if high > EXACT:
        sides.append(pc.greater(numbers, pa.scalar(EXACT, numbers.type)))
    if low < -EXACT:
        sides.append(pc.less(numbers, pa.scalar(-EXACT, numbers.type)))
    positions: list[int] = [pc.index(side, True).as_py() for side in sides]
    return min(positions)


def inexact(name: str, row: int) -> InvalidTable:
    """The error for an integer that no double holds, in a column of numbers."""
    return InvalidTable(
        f"Column {name!r} has an integer beyond 2^53 in row {row}, which cannot be kept exactly as "
        "a number; ask for the kind identifier or categorical to have the column read as text",
        column=name,
        row=row,
    )


def not_a_number(name: str, row: int | None, *, overridden: bool) -> DomainError:
    """The error for a text where a number is due."""
    where = "" if row is None else f" in row {row}"
    if overridden:
        return InvalidParameter(
            f"Column {name!r} is to be read as numbers and holds something else{where}",
            column=name,
            row=row,
        )
    return InvalidTable(
        f"Column {name!r} begins with numbers and holds something else{where}", column=name, row=row
    )


def _as_text(values: pa.Array) -> pa.Array:
    moments = pa.types.is_timestamp(values.type)
    if moments and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    texts = values.cast(TEXT)
    if moments:  # ISO 8601 has a T where Arrow writes a blank
        texts = pc.replace_substring(texts, " ", "T", max_replacements=1)
    if moments or pa.types.is_time(values.type):
        # Formats differ in the unit of a time: a whole second is spelled alike in all of them.
        texts = pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
    return texts


def _as_numbers(values: pa.Array, name: str, first_row: int, *, overridden: bool) -> pa.Array:
    text = is_text(values.type)
    try:
        return (without_empty(values) if text else values).cast(NUMBER)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        row = first_row + _first_text(without_empty(values)) if text else None
    raise not_a_number(name, row, overridden=overridden)


def _first_text(values: pa.Array) -> int:
    """The position of the first text that Arrow does not take for a double, by bisection."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            values[low:middle].cast(NUMBER)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


CAME_AS_INTEGER = {b"cornerwave.came_as": b"integer"}


def marked_schema(stream: TableStream) -> pa.Schema:
    """The schema of a stream, with columns that came as integers marked."""
    whole = {column.name for column in stream.columns if column.whole}
    return pa.schema(
        [
            field.with_metadata(CAME_AS_INTEGER) if field.name in whole else field
            for field in stream.schema
        ]
    )


def as_it_came(table: pa.Table) -> pa.Table:
    """The table with its columns that came as dates, or as integers and still are, written as such."""
    for place, field in enumerate(table.schema):
        values = table.column(place)
        if not pa.types.is_floating(field.type):
            continue
        if field.metadata == CAME_AS_DATE:
            values = as_dates(values)
        elif field.metadata == CAME_AS_INTEGER and _is_whole(values):
            values = values.cast(pa.int64())
        table = table.set_column(place, pa.field(field.name, values.type), values)
    return table.replace_schema_metadata(None)


def _is_whole(values: pa.ChunkedArray) -> bool:
    small = pc.all(pc.less_equal(pc.abs(values), EXACT)).as_py()
    return small is not False and pc.all(pc.equal(values, pc.floor(values))).as_py() is not False
