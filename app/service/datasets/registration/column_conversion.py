"""Conversion of stored columns: text to numbers or dates, numbers to text.

The rows of every part are written anew, in the same order and under the same ordinals, and all that
is known of them is found anew. Only until the first copy: its noise is bound to the rows as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection

from app.errors import Conflict, DomainError, InvalidParameter, raise_problems
from app.model import Column, ColumnOverrides, Dataset, Kind, Part, Storage
from app.service.context import RequestContext, owned
from app.service.datasets.registration.ingestion import IngestedTable, ingest, refuse_too_many
from app.service.datasets.registration.register import blob_name, discard_blobs, uploading
from app.service.datasets.secrets import (
    Statistics,
    merged,
    open_secret,
    part_digest,
    seal_statistics,
)
from app.service.resources import Resources
from app.store.database.datasets import datasets, orphaned_blobs
from app.store.database.engine import reading
from app.tables.columns import refuse_unknown_columns
from app.tables.formats.csv_columns import ColumnReader, column_readers
from app.tables.stream import ARROW_TYPE, ReadOptions, TableColumn, TableStream
from app.tables.values.dates import (
    ISO_MOMENT,
    DateFormat,
    as_dates,
    as_written,
    detect_date_format,
    numbers_of,
)

Reader = DateFormat | ColumnReader | None
"""How texts are read as numbers."""


def needs_reading(column: Column, override: ColumnOverrides) -> Storage | None:
    """The storage that the column must get for the overrides, None where it can stay as it is."""
    kind = override.kind or column.kind
    if column.storage is Storage.TEXT:
        return Storage.NUMBER if kind.noised or override.storage is Storage.NUMBER else None
    if kind.dated and kind is not column.kind:
        raise InvalidParameter(
            f"Column {column.name!r} holds numbers and cannot be read as dates.", column=column.name
        )
    leaves_dates = column.kind.dated and not kind.noised
    return Storage.TEXT if leaves_dates or override.storage is Storage.TEXT else None


@dataclass(frozen=True, repr=False)
class ConvertedRows:
    """The rows of a data set in new blobs, and what is known of them; `before` are its old parts."""

    dataset: Dataset
    before: list[Part]
    parts: list[Part]
    columns: tuple[Column, ...]
    statistics: Statistics

    def commit(self, resources: Resources, connection: Connection, now: datetime) -> None:
        """Put the new rows in place of the old ones, in the principal's transaction."""
        dataset_id = self.dataset.id
        sealed = seal_statistics(resources, dataset_id, self.statistics)
        datasets.set_columns(connection, dataset_id, self.columns)
        datasets.set_statistics(connection, dataset_id, sealed)
        for part in self.parts:
            datasets.move_part(connection, dataset_id, part)
        old = [part.blob for part in self.before]
        orphaned_blobs.add(connection, old, orphaned_blobs.Reason.REMOVAL, now)


@contextmanager
def read_again(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    overrides: Mapping[str, ColumnOverrides],
) -> Iterator[ConvertedRows | None]:
    """The rows with the columns of `overrides` as their kinds need them; None where all can stay.

    The body commits them, else nothing of them remains. InvalidTable or InvalidParameter when texts
    are no numbers or dates.
    """
    with reading(resources.engine) as connection:
        dataset = owned(connection, context, dataset_id)
        before = datasets.parts(connection, dataset_id)
        secret = open_secret(resources, connection, dataset_id)
    refuse_unknown_columns(overrides, tuple(column.name for column in dataset.columns))
    columns = tuple(_planned(column, overrides.get(column.name)) for column in dataset.columns)
    changed = [
        new
        for old, new in zip(dataset.columns, columns, strict=True)
        if old.storage is not new.storage
    ]
    if dataset.frozen or not changed:
        yield None
        return
    readers = {
        column.name: _reader(resources, before, column)
        for column in changed
        if column.storage is Storage.NUMBER
    }
    columns = tuple(
        _as_read(column, readers.get(column.name)) if column in changed else column
        for column in columns
    )
    with ExitStack() as uploads:
        parts: list[Part] = []
        found: list[IngestedTable] = []
        for part in before:
            stream = _stream(resources, part, dataset.columns, columns, readers)
            blob = blob_name(dataset_id, part.number)
            writer = uploads.enter_context(uploading(resources, blob, stream.schema))
            kinds = {column.name: ColumnOverrides(kind=column.kind) for column in columns}
            found.append(ingest(stream, kinds, writer, resources.limits))
            writer.finish()
            digest = part_digest(secret, writer.digest, formal=dataset.formal)
            parts.append(replace(part, blob=blob, digest=digest))
        statistics = reduce(
            merged, (Statistics(one.moments, one.categories, one.largest) for one in found)
        )
        if not dataset.formal:
            refuse_too_many(columns, statistics.categories, resources.limits.categories)
        columns = tuple(
            _with_all_rows(column, [one.columns[position] for one in found], found)
            for position, column in enumerate(columns)
        )
        yield ConvertedRows(dataset, before, parts, columns, statistics)
    discard_blobs(resources, [part.blob for part in before])


def refuse_changed(connection: Connection, rewritten: ConvertedRows, now: Dataset) -> None:
    """Conflict when rows came or columns changed since the rows were read."""
    parts = datasets.parts(connection, now.id)
    if now.columns != rewritten.dataset.columns or parts != rewritten.before:
        raise Conflict("The data set changed while its rows were read again; ask once more.")


def _with_all_rows(column: Column, seen: list[Column], found: list[IngestedTable]) -> Column:
    whole = all(
        one.integer or one.missing == part.rows for one, part in zip(seen, found, strict=True)
    )
    return replace(
        column,
        missing=sum(one.missing or 0 for one in seen),
        integer=whole and column.storage is Storage.NUMBER,
    )


def _planned(column: Column, override: ColumnOverrides | None) -> Column:
    storage = None if override is None else needs_reading(column, override)
    if override is None or storage is None:
        return column
    kind = override.kind or (Kind.NUMERIC if storage is Storage.NUMBER else Kind.CATEGORICAL)
    return replace(column, storage=storage, kind=kind, reason="The owner said so.")


def _reader(resources: Resources, parts: list[Part], column: Column) -> Reader:
    """Return the number syntax of a column, detected on the first rows of the data set."""
    part = parts[0]
    first = next(iter(resources.blobs.read_rows(part.blob, 0, part.rows, [column.name])))
    texts = first.column(0).cast(ARROW_TYPE[Storage.TEXT])
    if column.kind.dated:
        return detect_date_format(column.name, texts, None, sought=True)
    options = ReadOptions(storage={column.name: Storage.NUMBER})
    problems: list[DomainError] = []
    (reader,), _ = column_readers([column.name], [pc.fill_null(texts, "")], options, problems)
    raise_problems(problems)
    return reader


def _as_read(column: Column, reader: Reader) -> Column:
    if isinstance(reader, DateFormat):
        kind = Kind.DATETIME if reader.timed else Kind.DATE
        return replace(column, kind=kind, date_format=reader.format, unit=None)
    unit = None if reader is None else reader.column.unit
    return replace(column, unit=unit, date_format=None)


def _stream(
    resources: Resources,
    part: Part,
    old: tuple[Column, ...],
    new: tuple[Column, ...],
    readers: Mapping[str, Reader],
) -> TableStream:
    def batches() -> Iterator[pa.RecordBatch]:
        first_row = 1
        for batch in resources.blobs.read_rows(part.blob, 0, part.rows):
            arrays = [
                _cells(batch.column(before.name), before, after, readers, first_row)
                for before, after in zip(old, new, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column in new])
            first_row += batch.num_rows

    columns = tuple(
        TableColumn(column.name, column.storage, date_format=column.date_format) for column in new
    )
    return TableStream(columns, batches())


def _cells(
    values: pa.Array, old: Column, new: Column, readers: Mapping[str, Reader], first_row: int
) -> pa.Array:
    if old.storage is new.storage:
        return values
    if new.storage is Storage.TEXT:
        return _texts(values, old)
    reader = readers[new.name]
    if isinstance(reader, DateFormat):
        days = numbers_of(values, reader)
        if days.null_count > values.null_count:
            raise InvalidParameter(
                f"Column {new.name!r} holds something that is no date.", column=new.name
            )
        return days
    assert isinstance(reader, ColumnReader)
    numbers = reader.read(
        values.cast(ARROW_TYPE[Storage.TEXT]), lambda position: first_row + position, 0
    )
    raise_problems(reader.problems)
    return numbers


def _texts(values: pa.Array, old: Column) -> pa.Array:
    """Numbers as texts: dates as ISO has them, whole numbers without a fraction."""
    if old.kind is Kind.DATETIME:
        return as_written(values, old.date_format or ISO_MOMENT)
    if old.kind is Kind.DATE:
        return as_dates(values).cast(ARROW_TYPE[Storage.TEXT])
    whole = values.cast(pa.int64()) if old.integer else values
    return whole.cast(ARROW_TYPE[Storage.TEXT])
