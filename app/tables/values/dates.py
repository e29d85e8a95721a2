"""Dates in texts as numbers of days since 1970-01-01, and back.

A column whose first cells are all dates of one form is one of dates. Where day and month can change
places in all of them, nobody but the sender can tell which is which.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidTable
from app.model import Storage
from app.tables.stream import DateOrder, TableStream

CAME_AS_DATE = {b"cornerwave.came_as": b"date"}
"""What the schema of a table says of a column of days."""

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31: what any format can write."""

COMPACT = r"^(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
"""Digits without marks; a column of which all are such is of dates, and hardly by chance."""

FORMS = {
    r"^\d{4}-\d{1,2}-\d{1,2}$": ("%Y-%m-%d",),
    r"^\d{4}/\d{1,2}/\d{1,2}$": ("%Y/%m/%d",),
    r"^\d{4}\.\d{1,2}\.\d{1,2}$": ("%Y.%m.%d",),
    r"^\d{1,2}\.\d{1,2}\.\d{4}$": ("%d.%m.%Y",),
    r"^\d{1,2}/\d{1,2}/\d{4}$": ("%d/%m/%Y", "%m/%d/%Y"),
    r"^\d{1,2}-\d{1,2}-\d{4}$": ("%d-%m-%Y", "%m-%d-%Y"),
    COMPACT: ("%Y%m%d",),
}
"""The forms of a date, each with its readings, the day first."""

UNREAD = "|".join(
    (
        r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}[T ]\d{1,2}:\d{2}",
        r"^\d{1,2}[-/.]\d{1,2}[-/.]\d{4}([T ]+\d{1,2}:\d{2}.*)?$",
        r"^\d{1,2}[-/.]\d{1,2}[-/.]\d{2}$",
        r"^\d{1,2}(\. ?|[ -])\p{L}{3,9}\.?[ -]\d{2,4}$",
        r"^\p{Lu}\p{L}{2,8}\.? \d{1,2},? \d{4}$",
    )
)
"""Dates in forms that are not read: with a time of day, two digits of a year, or a month in words."""

MIDNIGHT = r"[T ]00:00(:00(\.0+)?)?Z?$"
NEARLY_ALL = 0.9
MOST_ROWS = 5


@dataclass(frozen=True)
class DateFormat:
    """How the dates of a column are written."""

    pattern: str
    format: str


def with_dates(
    stream: TableStream,
    kept: Collection[str] = (),
    sought: Collection[str] = (),
) -> TableStream:
    """The stream with texts that are dates as numbers of days.

    Columns in `kept` stay as they are; those in `sought` must be dates. InvalidTable for day and
    month that may change places, and for cells that are none among dates.
    """
    batches = iter(stream.batches)
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return stream
    forms: dict[str, DateFormat] = {}
    for column in stream.columns:
        if column.storage is Storage.TEXT and column.name not in kept:
            form = detect_date_format(
                column.name,
                first.column(column.name),
                stream.date_order,
                sought=column.name in sought,
            )
            if form is not None:
                forms[column.name] = form
    columns = tuple(
        replace(column, storage=Storage.NUMBER, date=True) if column.name in forms else column
        for column in stream.columns
    )
    return replace(stream, columns=columns, batches=_dated(stream, chain([first], batches), forms))


def dated_table(table: pa.Table, order: DateOrder | None) -> pa.Table:
    """The table with texts that are dates as numbers of days, which its schema remembers.

    TextBuffers that are dates only in part stay texts. InvalidTable where day and month may change places.
    """
    for place, field in enumerate(table.schema):
        if not pa.types.is_large_string(field.type):
            continue
        texts = pa.concat_arrays([pa.array([], field.type), *table.column(place).chunks])
        try:
            form = detect_date_format(field.name, texts, order)
        except InvalidTable as unclear:
            if "plausible" in unclear.fields:
                raise
            continue
        if form is not None and (days := days_of(texts, form)).null_count == texts.null_count:
            table = table.set_column(
                place, field.with_type(days.type).with_metadata(CAME_AS_DATE), days
            )
    return table


def detect_date_format(
    name: str, cells: pa.Array, order: DateOrder | None, *, sought: bool = False
) -> DateFormat | None:
    """How the dates among the cells are written; None when they are no dates."""
    present = _bare(cells.drop_null())
    if len(present) == 0:
        return DateFormat(next(iter(FORMS)), "%Y-%m-%d") if sought else None
    for pattern, formats in FORMS.items():
        matching = pc.sum(pc.match_substring_regex(present, pattern)).as_py() or 0
        if matching < NEARLY_ALL * len(present):
            continue
        readings = {form: days_of(present, DateFormat(pattern, form)) for form in formats}
        held = {form: days for form, days in readings.items() if days.null_count == 0}
        if len(held) == 2 and order is None and not pc.all(pc.equal(*held.values())).as_py():
            raise InvalidTable(
                f"The dates of column {name!r} may have the day or the month first; say "
                "dates=day_first or dates=month_first.",
                parameter="dates",
                plausible=[str(one) for one in DateOrder],
                column=name,
            )
        if held:
            wanted = formats[-1] if order is DateOrder.MONTH_FIRST else formats[0]
            return DateFormat(pattern, wanted if wanted in held else next(iter(held)))
        best = min(readings.values(), key=lambda days: days.null_count)
        if best.null_count <= (1 - NEARLY_ALL) * len(present):
            raise _stray(name, cells, DateFormat(pattern, formats[0]), 1)
    unread = pc.sum(pc.match_substring_regex(present, UNREAD)).as_py() or 0
    if not sought and unread >= NEARLY_ALL * len(present):
        raise InvalidTable(
            f"Column {name!r} seems to hold dates in a form that is not read, or in two forms: write them"
            " as 2024-12-31, without a time of day, or say"
            f' columns={{"{name}": "identifier"}} to leave the column out, or "categorical" to have it'
            " read as text.",
            column=name,
        )
    if sought:
        raise InvalidTable(
            f"Column {name!r} is to hold dates and holds something else; dates are written as "
            "2024-12-31, 31.12.2024 or 31/12/2024.",
            column=name,
        )
    return None


def days_of(texts: pa.Array, form: DateFormat) -> pa.Array:
    """Days since 1970 as doubles, null where a text is no date of the form."""
    bare = _bare(texts)
    matched = pc.match_substring_regex(bare, form.pattern)
    if form.pattern == COMPACT:
        return days_of(_parted(bare, matched), DateFormat(r"^\d{4}-\d{2}-\d{2}$", "%Y-%m-%d"))
    moments = pc.strptime(bare, format=form.format, unit="s", error_is_null=True)
    # The C library makes March 2 of February 31.
    place = sorted("dmY", key=lambda sign: form.format.find(f"%{sign}")).index("d")
    parts = pc.split_pattern_regex(pc.if_else(matched, bare, "0-0-0"), r"\D")
    said = pc.cast(pc.list_element(parts, place), pa.int64())
    right = pc.and_(matched, pc.equal(pc.day(moments), said))
    days = pc.cast(moments.cast(pa.date32()).cast(pa.int32()), pa.float64())
    return pc.if_else(right, days, pa.scalar(None, pa.float64()))


def _parted(bare: pa.Array, matched: pa.Array) -> pa.Array:
    """20200131 as 2020-01-31, and null where a text is none such."""
    parted = pc.replace_substring_regex(bare, r"^(\d{4})(\d{2})(\d{2})$", r"\1-\2-\3")
    return pc.if_else(matched, parted, pa.scalar(None, parted.type))


def as_dates(days: pa.Array) -> pa.Array:
    """Numbers of days, whole ones, as dates."""
    return days.cast(pa.int32()).cast(pa.date32())


def _bare(texts: pa.Array) -> pa.Array:
    """The texts without blanks around and without a midnight."""
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), MIDNIGHT, "")


def _dated(
    stream: TableStream, batches: Iterator[pa.RecordBatch], forms: dict[str, DateFormat]
) -> Iterator[pa.RecordBatch]:
    first_row = 1
    try:
        for batch in batches:
            arrays = [
                _days(name, values, forms[name], first_row) if name in forms else values
                for name, values in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
            first_row += batch.num_rows
    finally:
        stream.close()


def _days(name: str, texts: pa.Array, form: DateFormat, first_row: int) -> pa.Array:
    days = days_of(texts, form)
    if days.null_count > texts.null_count:
        raise _stray(name, texts, form, first_row)
    return days


def _stray(name: str, texts: pa.Array, form: DateFormat, first_row: int) -> InvalidTable:
    wrong = pc.and_(pc.is_null(days_of(texts, form)), texts.is_valid())
    rows = [first_row + at for at in pc.indices_nonzero(wrong)[:MOST_ROWS].to_pylist()]
    return InvalidTable(
        f"Column {name!r} holds dates and something else in row {', '.join(map(str, rows))}. Correct "
        "it, name what stands for a missing cell with the parameter `missing`, or say "
        f'columns={{"{name}": "identifier"}}.',
        column=name,
        row=rows[0],
        rows=rows if len(rows) > 1 else None,
    )
