"""From the Arrow types of a caller's columns to doubles and text, refusing what neither can hold.

Integers become doubles on the way in, and integers again on the way out.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import DomainError, InvalidParameter, InvalidTable
from app.model import Limits, Storage
from app.tables.stream import ARROW_TYPE, TableColumn, TableStream
from app.tables.values.dates import CAME_AS_DATE, as_dates
from app.tables.values.plain import is_text, plain, plain_type

LONGEST_NAME = 200
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
EXACT = 2**53 - 1
"""Integers up to here are doubles, and no other integer has the same double."""


def checked_names(names: list[str], limits: Limits) -> None:
    """InvalidTable unless the names are few enough, readable and all different."""
    if not names:
        raise InvalidTable("The table has no columns")
    if len(names) > limits.columns:
        raise InvalidTable(
            f"The table has {len(names)} columns; {limits.columns} are allowed",
            columns=len(names),
            limit=limits.columns,
        )
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


def inferred_storage(name: str, values: pa.Array) -> Storage:
    """Number for integers, decimals and floats; text for the rest, and for integers beyond 2⁵³."""
    kind = plain_type(values.type)
    if pa.types.is_integer(kind):
        return Storage.TEXT if first_inexact(plain(values, name)) is not None else Storage.NUMBER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Storage.NUMBER
    if is_text(kind) or _is_told_as_text(kind):
        return Storage.TEXT
    raise InvalidTable(
        f"Column {name!r} is of the type {kind}, which is neither number nor text", column=name
    )


def converted(values: pa.Array, column: TableColumn, first_row: int, *, wished: bool) -> pa.Array:
    """The values as doubles or text, missing ones null; `first_row` is the number of the first.

    Departures are an InvalidTable, or an InvalidParameter where the caller asked for the storage.
    """
    unwrapped = plain(values, column.name)
    if column.storage is Storage.TEXT:
        return without_empty(_as_text(unwrapped))
    if pa.types.is_integer(unwrapped.type) and (at := first_inexact(unwrapped)) is not None:
        raise inexact(column.name, first_row + at)
    numbers = _as_numbers(unwrapped, column.name, first_row, wished=wished)
    refuse_not_finite(numbers, column.name, first_row)
    return numbers


def without_empty(texts: pa.Array) -> pa.Array:
    """The texts with the empty ones missing: CSV cannot tell the two apart, so no format does."""
    empty = pc.equal(texts, "")
    return pc.if_else(empty, pa.scalar(None, texts.type), texts) if pc.any(empty).as_py() else texts


def refuse_not_finite(numbers: pa.Array, name: str, first_row: int) -> None:
    """InvalidTable for the first NaN or infinity: a missing number is a null or an empty field."""
    finite = pc.is_finite(numbers)
    if pc.all(finite).as_py() is False:
        row = first_row + pc.index(finite, False).as_py()
        raise InvalidTable(
            f"Column {name!r} has NaN or an infinity in row {row}; leave the cell empty (null) "
            "where a number is missing",
            column=name,
            row=row,
        )


def first_inexact(numbers: pa.Array) -> int | None:
    """Where the first number beyond 2⁵³ is, if there is one."""
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
    """The error for an integer that no double holds, met after the column was taken for numbers."""
    return InvalidTable(
        f"Column {name!r} has an integer beyond 2^53 in row {row}, which cannot be kept exactly as "
        "a number; ask for the kind identifier or categorical to have the column read as text",
        column=name,
        row=row,
    )


def not_a_number(name: str, row: int | None, *, wished: bool) -> DomainError:
    """The error for a text where a number is due: the caller's wish is at fault, or the table."""
    where = "" if row is None else f" in row {row}"
    if wished:
        return InvalidParameter(
            f"Column {name!r} is to be read as numbers and holds something else{where}",
            column=name,
            row=row,
        )
    return InvalidTable(
        f"Column {name!r} begins with numbers and holds something else{where}", column=name, row=row
    )


def _is_told_as_text(kind: pa.DataType) -> bool:
    """Types whose values have one usual spelling: true, 2020-01-31T12:00:00, or nothing at all."""
    return bool(
        pa.types.is_boolean(kind)
        or pa.types.is_date(kind)
        or pa.types.is_time(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_null(kind)
    )


def _as_text(values: pa.Array) -> pa.Array:
    moments = pa.types.is_timestamp(values.type)
    if moments and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    texts = values.cast(ARROW_TYPE[Storage.TEXT])
    if moments:  # ISO 8601 has a T where Arrow writes a blank
        texts = pc.replace_substring(texts, " ", "T", max_replacements=1)
    if moments or pa.types.is_time(values.type):
        # Formats differ in the unit of a time: a whole second is spelled alike in all of them.
        texts = pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
    return texts


def _as_numbers(values: pa.Array, name: str, first_row: int, *, wished: bool) -> pa.Array:
    number = ARROW_TYPE[Storage.NUMBER]
    if is_text(values.type):
        values = without_empty(values)
    try:
        return values.cast(number)
    except pa.ArrowInvalid:
        row = None if not is_text(values.type) else first_row + _first_text(values)
    except pa.ArrowNotImplementedError:
        row = None
    raise not_a_number(name, row, wished=wished)


def _first_text(values: pa.Array) -> int:
    """Where the first text is that Arrow does not take for a double, by bisection."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            values[low:middle].cast(ARROW_TYPE[Storage.NUMBER])
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


WHOLE = {b"cornerwave.came_as": b"integer"}


def marked_schema(stream: TableStream) -> pa.Schema:
    """The schema of a stream, which remembers the columns that came as integers."""
    whole = {column.name for column in stream.columns if column.whole}
    return pa.schema(
        [field.with_metadata(WHOLE) if field.name in whole else field for field in stream.schema]
    )


def as_it_came(table: pa.Table) -> pa.Table:
    """The table with its columns that came as dates, or as integers and still are, written as such."""
    for place, field in enumerate(table.schema):
        if field.metadata == CAME_AS_DATE and pa.types.is_floating(field.type):
            days = field.with_type(pa.date32()).remove_metadata()
            table = table.set_column(place, days, as_dates(table.column(place)))
        if field.metadata == WHOLE and pa.types.is_floating(field.type):
            values = table.column(place)
            if _is_whole(values):
                whole = field.with_type(pa.int64()).remove_metadata()
                table = table.set_column(place, whole, values.cast(pa.int64()))
    return table.replace_schema_metadata(None)


def _is_whole(values: pa.ChunkedArray) -> bool:
    small = pc.all(pc.less_equal(pc.abs(values), EXACT)).as_py()
    return small is not False and pc.all(pc.equal(values, pc.floor(values))).as_py() is not False
