"""Dates in texts as numbers of days since 1970-01-01, and back.

A column whose first cells are all dates of one form holds dates. Where day and month can change places in all of them,
the sender has to say which stands first.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidTable
from app.model import Storage
from app.tables.dialect.number_syntax import MISSING_NUMBERS, is_mark
from app.tables.stream import MOST_ROWS, DateOrder, TableStream, named_rows

CAME_AS_DATE = {b"cornerwave.came_as": b"date"}
"""Mark of a column of days in the schema of a table."""

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31: what any format can write."""

COMPACT = r"^(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
"""Digits without marks; a column of nothing else holds dates, and hardly by chance."""

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


@dataclass(frozen=True)
class DateFormat:
    """Format of the dates of a column."""

    pattern: str
    format: str


def with_dates(
    stream: TableStream,
    kept: Collection[str] = (),
    sought: Collection[str] = (),
) -> TableStream:
    """Return the stream with texts that are dates as numbers of days.

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
            cells, name = first.column(column.name), column.name
            try:
                form = detect_date_format(name, cells, stream.date_order, sought=name in sought)
            except InvalidTable as wrong:
                stream.problems.append(wrong)
                continue
            if form is not None:
                forms[column.name] = form
    columns = tuple(
        replace(column, storage=Storage.NUMBER, date=True) if column.name in forms else column
        for column in stream.columns
    )
    position = 0
    told: set[str] = set()

    def dated(batch: pa.RecordBatch) -> pa.RecordBatch:
        nonlocal position
        arrays = []
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            days = days_of(values, forms[name]) if name in forms else values
            if days.null_count > values.null_count and name not in told:
                told.add(name)
                stream.problems.append(_stray(name, values, forms[name], stream, position))
            arrays.append(days)
        position += batch.num_rows
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    rows = chain([first], batches)
    return replace(replace(stream, batches=rows).map(dated), columns=columns, release=stream.close)


def dated_table(table: pa.Table, order: DateOrder | None) -> pa.Table:
    """Return the table with texts that are dates as numbers of days, marked in its schema.

    Texts that are dates only in part stay texts. InvalidTable where day and month may change places.
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
    """Return the format of the dates in a column; None when they are no dates."""
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
            raise _stray(name, cells, DateFormat(pattern, formats[0]))
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
    """Return days since 1970 as doubles, null where a text is no date of the format."""
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
    """20200131 as 2020-01-31, other texts as null."""
    parted = pc.replace_substring_regex(bare, r"^(\d{4})(\d{2})(\d{2})$", r"\1-\2-\3")
    return pc.if_else(matched, parted, pa.scalar(None, parted.type))


def as_dates(days: pa.Array) -> pa.Array:
    """Return whole numbers of days as dates."""
    return days.cast(pa.int32()).cast(pa.date32())


def _bare(texts: pa.Array) -> pa.Array:
    """The texts without blanks around and without a midnight."""
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), MIDNIGHT, "")


def _stray(
    name: str,
    texts: pa.Array,
    form: DateFormat,
    stream: TableStream | None = None,
    position: int = 0,
) -> InvalidTable:
    wrong = pc.indices_nonzero(pc.and_(pc.is_null(days_of(texts, form)), texts.is_valid()))
    places = wrong.slice(0, MOST_ROWS)
    rows = [
        position + at + 1 if stream is None else stream.row_number(position + at)
        for at in places.to_pylist()
    ]
    found = set(pc.utf8_trim_whitespace(texts.take(wrong)).to_pylist())
    marks = sorted(found) if all(map(is_mark, found)) or found <= {*MISSING_NUMBERS} else None
    remedy = (
        f"Say {'&'.join(f'missing={mark}' for mark in marks)} to take these cells as missing."
        if marks
        else "Correct it, name what stands for a missing cell with the parameter `missing`, or say "
        f'columns={{"{name}": "categorical"}} to have the column read as text.'
    )
    return InvalidTable(
        f"Column {name!r} holds dates and something else in {named_rows(rows)}. {remedy}",
        column=name,
        row=rows[0],
        rows=rows if len(rows) > 1 else None,
        parameters={"missing": marks} if marks else {"columns": {name: {"kind": "categorical"}}},
    )
