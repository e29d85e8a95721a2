"""Dates and moments in texts as numbers of days or seconds since 1970-01-01, and back.

A column whose first cells are all dates of one form holds dates. Where day and month can change places in all of them,
the sender has to say which stands first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, product
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidTable
from app.model import Kind, Storage
from app.tables.dialect.number_syntax import MISSING_NUMBERS, is_mark
from app.tables.stream import MOST_ROWS, DateOrder, TableStream, named_rows

CAME_AS_DATE = {b"cornerwave.came_as": b"date"}
"""Mark of a column of days in the schema of a table."""

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31: what any format can write."""

DAY_SECONDS = 86_400

COMPACT = r"^(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
"""Digits without marks; a column of nothing else holds dates, and hardly by chance."""

DATES = {
    r"\d{4}-\d{1,2}-\d{1,2}": ("%Y-%m-%d",),
    r"\d{4}/\d{1,2}/\d{1,2}": ("%Y/%m/%d",),
    r"\d{4}\.\d{1,2}\.\d{1,2}": ("%Y.%m.%d",),
    r"\d{1,2}\.\d{1,2}\.\d{4}": ("%d.%m.%Y",),
    r"\d{1,2}/\d{1,2}/\d{4}": ("%d/%m/%Y", "%m/%d/%Y"),
    r"\d{1,2}-\d{1,2}-\d{4}": ("%d-%m-%Y", "%m-%d-%Y"),
    r"\d{1,2}\.\d{1,2}\.\d{2}": ("%d.%m.%y",),
    r"\d{1,2}/\d{1,2}/\d{2}": ("%d/%m/%y", "%m/%d/%y"),
    r"\d{1,2}-[A-Za-z]{3}-\d{4}": ("%d-%b-%Y",),
    r"\d{1,2}-[A-Za-z]{3}-\d{2}": ("%d-%b-%y",),
    r"\d{1,2}[A-Za-z]{3}\d{4}": ("%d%b%Y",),
    r"\d{1,2}[A-Za-z]{3}\d{2}": ("%d%b%y",),
    r"\d{1,2} [A-Za-z]{3,9} \d{4}": ("%d %b %Y",),
    r"[A-Za-z]{3,9} \d{1,2} \d{4}": ("%b %d %Y",),
    r"[A-Za-z]{3,9} \d{1,2}, \d{4}": ("%b %d, %Y",),
}
"""The forms of a date, each with its readings, the day first; months by their English names."""

TIMES = {
    r"\d{1,2}:\d{2}": "%H:%M",
    r"\d{1,2}:\d{2}:\d{2}": "%H:%M:%S",
    r"\d{1,2}:\d{2} [AaPp][Mm]": "%I:%M %p",
    r"\d{1,2}:\d{2}:\d{2} [AaPp][Mm]": "%I:%M:%S %p",
}
"""The forms of a time of day behind a date. Fractions of a second are left out."""

ISO_MOMENT = "%Y-%m-%dT%H:%M:%S"
ZONES = ("", "Z", " UTC")
OFFSET = re.compile(r"[+-]\d{2}(?::?\d{2})?$")
"""The same in all cells of a column, it is part of the format."""

UNREAD = "|".join(
    (
        r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?$",
        r"^\d{1,2}[-/.]\d{1,2}[-/.]\d{4}([T ]+\d{1,2}:\d{2}.*)?$",
        r"^\d{1,2}[-/.]\d{1,2}[-/.]\d{2}$",
        r"^\d{1,2}(\. ?|[ -])\p{L}{3,9}\.?[ -]\d{2,4}$",
        r"^\p{Lu}\p{L}{2,8}\.? \d{1,2},? \d{4}$",
    )
)
"""Dates in forms that are not read: with another zone than UTC, or a month in words of another language."""

MIDNIGHT = r"[T ]00:00(:00(\.0+)?)?Z?$"
FRACTION = r"(:\d{2}:\d{2})\.\d{1,9}"
NEARLY_ALL = 0.9
UNCLEAR_YEARS = (2030, 2068)
"""Two digits of a year that stand for either century: programs take them for different ones."""


@dataclass(frozen=True)
class DateFormat:
    """Format of the dates or moments of a column.

    where:
        timed      whether a time of day stands behind the date: the numbers are seconds, not days
        ambiguous  whether day and month may change places in all cells so far, which had them alike
        midnights  whether the dates stand for moments, in a column that is to hold such
    """

    pattern: str
    format: str
    timed: bool = False
    ambiguous: bool = False
    midnights: bool = False

    @property
    def written(self) -> str:
        """The format in which the numbers leave."""
        return ISO_MOMENT if self.midnights else self.format


def is_timed(format: str) -> bool:  # noqa: A002 - the word for it
    """Return whether a format has a time of day."""
    return "%M" in format


def _forms(sample: str) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """The patterns that a text has, each with its formats, and whether a time of day is in it."""
    for pattern, formats in DATES.items():
        if re.fullmatch(pattern, sample):
            yield f"^{pattern}$", formats, False
        elif (begin := re.match(pattern, sample)) is not None:
            rest = sample[begin.end() :]
            offsets = OFFSET.findall(rest)
            for blank, (time, form), zone in product(" T:", TIMES.items(), (*ZONES, *offsets)):
                if re.fullmatch(f"{blank}{time}{re.escape(zone)}", rest):
                    whole = f"^{pattern}{blank}{time}{re.escape(zone)}$"
                    yield whole, tuple(f"{one}{blank}{form}{zone}" for one in formats), True
    if re.fullmatch(COMPACT, sample):
        yield COMPACT, ("%Y%m%d",), False


def with_dates(
    stream: TableStream,
    kinds: Mapping[str, Kind] = MappingProxyType({}),
) -> TableStream:
    """Return the stream with texts that are dates as numbers of days, moments as numbers of seconds.

    Columns whose owner says that they are dates or moments must be, and those of another kind stay as they are.
    A problem for day and month that may change places, and for cells that are none among dates.
    """
    batches = iter(stream.batches)
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return stream
    forms: dict[str, DateFormat] = {}
    for column in stream.columns:
        cells, name, kind = first.column(column.name), column.name, kinds.get(column.name)
        if column.storage is Storage.TEXT and kind in (None, Kind.DATE, Kind.DATETIME):
            try:
                form = detect_date_format(name, cells, stream.date_order, sought=kind is not None)
                if form is not None and form.timed and kind is Kind.DATE:
                    raise _with_times(name)
            except InvalidTable as wrong:
                stream.problems.append(wrong)
                continue
            if form is not None:
                midnights = kind is Kind.DATETIME and not form.timed
                forms[column.name] = replace(form, midnights=midnights)
    columns = tuple(
        replace(column, storage=Storage.NUMBER, date_format=forms[column.name].written)
        if column.name in forms
        else column
        for column in stream.columns
    )
    position = 0
    told: set[str] = set()

    def dated(batch: pa.RecordBatch) -> pa.RecordBatch:
        nonlocal position
        arrays = []
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            form = forms.get(name)
            found = values if form is None else numbers_of(values, form)
            if form is not None and name not in told:
                wrong = None
                if found.null_count > values.null_count:
                    wrong = _stray(name, values, form, stream, position)
                elif form.ambiguous and _differ(values, form):
                    wrong = _unclear_order(name)
                elif "%y" in form.format and _has_unclear_year(found, timed=form.timed):
                    wrong = _unread(name)
                if wrong is not None:
                    told.add(name)
                    stream.problems.append(wrong)
            arrays.append(found)
        position += batch.num_rows
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    rows = chain([first], batches)
    return replace(replace(stream, batches=rows).map(dated), columns=columns, release=stream.close)


def dated_table(table: pa.Table, order: DateOrder | None) -> pa.Table:
    """Return the table with texts that are dates as numbers of days, marked in its schema.

    Moments, and texts that are dates only in part, stay texts. InvalidTable where day and month may change places.
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
        if form is None or form.timed:
            continue
        if (days := numbers_of(texts, form)).null_count == texts.null_count:
            table = table.set_column(
                place, field.with_type(days.type).with_metadata(CAME_AS_DATE), days
            )
    return table


def detect_date_format(
    name: str, cells: pa.Array, order: DateOrder | None, *, sought: bool = False
) -> DateFormat | None:
    """Return the format of the dates or moments in a column; None when they are none."""
    present = pc.utf8_trim_whitespace(cells.drop_null())
    if len(present) == 0:
        return DateFormat(r"^\d{4}-\d{1,2}-\d{1,2}$", "%Y-%m-%d") if sought else None
    samples = dict.fromkeys(text for one in present[:10].to_pylist() for text in _readings(one))
    for pattern, formats, timed in dict.fromkeys(
        form for sample in samples for form in _forms(sample)
    ):
        bare = _bare(present, timed=timed)
        matching = pc.sum(pc.match_substring_regex(bare, pattern)).as_py() or 0
        if matching < NEARLY_ALL * len(present):
            continue
        readings = {form: DateFormat(pattern, form, timed) for form in formats}
        found = {form: numbers_of(present, one) for form, one in readings.items()}
        held = [form for form, numbers in found.items() if numbers.null_count == 0]
        if held:
            if any("%y" in form and _has_unclear_year(found[form], timed=timed) for form in held):
                break
            ambiguous = len(held) == 2 and order is None
            if ambiguous and not pc.all(pc.equal(*(found[form] for form in held))).as_py():
                raise _unclear_order(name)
            wanted = formats[-1] if order is DateOrder.MONTH_FIRST else formats[0]
            chosen = wanted if wanted in held else held[0]
            return replace(readings[chosen], ambiguous=ambiguous)
        fewest = min(numbers.null_count for numbers in found.values())
        if fewest <= (1 - NEARLY_ALL) * len(present) and pattern != COMPACT:
            raise _stray(name, cells, readings[formats[0]])
    unread = pc.sum(pc.match_substring_regex(_bare(present), UNREAD)).as_py() or 0
    if not sought and unread >= NEARLY_ALL * len(present):
        raise _unread(name)
    if sought:
        raise InvalidTable(
            f"Column {name!r} is to hold dates and holds something else; dates are written as "
            "2024-12-31, 31.12.2024 or 31/12/2024, moments as 2024-12-31T08:05:00.",
            column=name,
        )
    return None


def _unread(name: str) -> InvalidTable:
    return InvalidTable(
        f"Column {name!r} seems to hold dates in a form that is not read, or in two forms: write them"
        f' as 2024-12-31 or 2024-12-31T08:05:00Z, or say columns={{"{name}": "identifier"}} to leave the column'
        ' out, or "categorical" to have it read as text.',
        column=name,
        choices=[
            {"columns": {name: {"kind": "identifier"}}},
            {"columns": {name: {"kind": "categorical"}}},
        ],
    )


def _readings(text: str) -> tuple[str, str]:
    """A text without a midnight, by which it would be a date, and without fractions of a second."""
    return re.sub(MIDNIGHT, "", text), re.sub(FRACTION, r"\1", text)


def _with_times(name: str) -> InvalidTable:
    return InvalidTable(
        f"Column {name!r} is to hold dates and holds times of day, too: say datetime.",
        column=name,
        parameters={"columns": {name: {"kind": "datetime"}}},
    )


def _unclear_order(name: str) -> InvalidTable:
    return InvalidTable(
        f"The dates of column {name!r} may have the day or the month first; say "
        "dates=day_first or dates=month_first.",
        parameter="dates",
        plausible=[str(one) for one in DateOrder],
        column=name,
    )


def _differ(texts: pa.Array, form: DateFormat) -> bool:
    """Return whether day and month, the other way round, are other dates."""
    swapped = form.format.replace("%d", "\0").replace("%m", "%d").replace("\0", "%m")
    other = numbers_of(texts, replace(form, format=swapped))
    return other.null_count == texts.null_count and not bool(
        pc.all(pc.equal(other, numbers_of(texts, form))).as_py()
    )


def _has_unclear_year(numbers: pa.Array, *, timed: bool) -> bool:
    years = pc.year(_moments(numbers, timed=timed))
    low, high = UNCLEAR_YEARS
    return bool(pc.any(pc.and_(pc.greater_equal(years, low), pc.less_equal(years, high))).as_py())


def numbers_of(texts: pa.Array, form: DateFormat) -> pa.Array:
    """Return days or seconds since 1970 as doubles, null where a text is no date of the format."""
    bare = _bare(texts, timed=form.timed)
    matched = pc.match_substring_regex(bare, form.pattern)
    if form.pattern == COMPACT:
        parted = pc.replace_substring_regex(bare, r"^(\d{4})(\d{2})(\d{2})$", r"\1-\2-\3")
        parted = pc.if_else(matched, parted, pa.scalar(None, parted.type))
        return numbers_of(parted, replace(form, pattern=r"^\d{4}-\d{2}-\d{2}$", format="%Y-%m-%d"))
    moments = pc.strptime(bare, format=form.format, unit="s", error_is_null=True)
    # The C library makes March 2 of February 31. The day is the first number where the month is a word.
    signs = sorted("dmY", key=lambda sign: form.format.replace("%y", "%Y").find(f"%{sign}"))
    place = 0 if "%b" in form.format else signs.index("d")
    parts = pc.split_pattern_regex(pc.if_else(matched, bare, "0-0-0"), r"\D+")
    if form.format.startswith("%b"):
        place = 1  # an empty part stands before it
    said = pc.cast(pc.list_element(parts, place), pa.int64())
    right = pc.and_(matched, pc.equal(pc.day(moments), said))
    seconds = moments.cast(pa.int64())
    if not form.timed and not form.midnights:
        seconds = moments.cast(pa.date32()).cast(pa.int32())
    return pc.if_else(right, pc.cast(seconds, pa.float64()), pa.scalar(None, pa.float64()))


def read_as_written(texts: pa.Array, format: str) -> pa.Array:  # noqa: A002
    """Return seconds since 1970 of moments that `as_written` wrote."""
    return pc.strptime(texts, format=format, unit="s").cast(pa.int64()).cast(pa.float64())


def as_dates(days: pa.Array) -> pa.Array:
    """Return whole numbers of days as dates."""
    return days.cast(pa.int32()).cast(pa.date32())


def as_written(seconds: pa.Array, format: str) -> pa.Array:  # noqa: A002
    """Return whole numbers of seconds as moments in a format."""
    return pc.strftime(_moments(seconds, timed=True), format=format).cast(pa.large_string())


def _moments(numbers: pa.Array, *, timed: bool) -> pa.Array:
    if not timed:
        return as_dates(numbers)
    return numbers.cast(pa.int64()).cast(pa.timestamp("s"))


def _bare(texts: pa.Array, *, timed: bool = False) -> pa.Array:
    """The texts without blanks around and without a midnight, or without fractions of a second."""
    texts = pc.utf8_trim_whitespace(texts)
    if timed:
        return pc.replace_substring_regex(texts, FRACTION, r"\1")
    return pc.replace_substring_regex(texts, MIDNIGHT, "")


def _stray(
    name: str,
    texts: pa.Array,
    form: DateFormat,
    stream: TableStream | None = None,
    position: int = 0,
) -> InvalidTable:
    wrong = pc.indices_nonzero(pc.and_(pc.is_null(numbers_of(texts, form)), texts.is_valid()))
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
