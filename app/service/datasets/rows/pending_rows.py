"""Pending rows: appended after the first copy, sealed, in no copy until they form a part.

Noise is measured on the very rows that it hides, so a part needs rows to be measured on: as many values in each numeric column
that they have at all as its covariance wants. Pending rows have no ordinals, so that recipients see no gap.
They are listed, withdrawn without a trace, or closed early by the owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection

from app.errors import Conflict, NotFound
from app.model import Column, ColumnOverrides, Dataset, Kind, Notice, Part
from app.numerics.arrays import IntArray
from app.numerics.copies.shapes.shape import rows_for_a_shape
from app.service.context import RequestContext, owned, owned_and_locked
from app.service.datasets.overlap.comparison import add_pending_sketches, remove_keys
from app.service.datasets.overlap.row_fingerprints import book_fingerprints
from app.service.datasets.protection.freeze import (
    FreezeInput,
    PartMeasurement,
    measure_rows,
    protect_part,
)
from app.service.datasets.protection.row_sample import sampled_columns
from app.service.datasets.registration.ingestion import IngestedTable, ingest
from app.service.datasets.registration.register import blob_name, discard_blobs, uploading
from app.service.datasets.secrets import (
    larger,
    open_secret,
    open_statistics,
    part_digest,
    seal_statistics,
)
from app.service.events import RowsAppended, publish
from app.service.resources import Resources
from app.service.unit_of_work import UnitOfWork, unit_of_work
from app.store.database.datasets import datasets, pending_rows
from app.store.database.datasets.pending_rows import PendingBatch
from app.store.database.engine import reading
from app.tables.stream import Decimal, TableColumn, TableStream

FEWEST_RECORDS = 20
"""Rows of a part without numeric columns."""

ATTEMPTS = 20


class PendingChanged(Conflict):
    """Other rows came or went meanwhile: what was made of pending rows is to be made anew."""


def needed_values(dataset: Dataset) -> int:
    """Values that each numeric column of a part needs: 10·(d+1)."""
    numbers, _ = sampled_columns(dataset.columns)
    return rows_for_a_shape(len(numbers)) if numbers else FEWEST_RECORDS


def is_part(dataset: Dataset, batches: Sequence[PendingBatch]) -> bool:
    """Return whether these batches together have the values that a part needs, and the rows that the owner wants."""
    rows = sum(batch.kept_rows for batch in batches)
    counts = np.array([batch.counts for batch in batches], dtype=np.int64).sum(axis=0)
    fewest = int(counts[counts > 0].min(initial=rows))
    return rows >= dataset.part_rows and fewest >= needed_values(dataset)


def number_counts(dataset: Dataset, ingested: IngestedTable) -> tuple[int, ...]:
    """Return how many values each numeric column has."""
    known = dict(zip(ingested.numbers, ingested.moments.counts.tolist(), strict=True))
    return tuple(int(known[column.name]) for column in sampled_columns(dataset.columns)[0])


def plain_overrides(dataset: Dataset) -> dict[str, ColumnOverrides]:
    """Return overrides for columns whose kind is settled, so that categories are not counted again."""
    return {
        column.name: ColumnOverrides(
            kind=Kind.IDENTIFIER if column.kind is Kind.CATEGORICAL else column.kind
        )
        for column in dataset.columns
    }


@dataclass(frozen=True, repr=False)
class NewPart:
    """Rows that are to be a part, measured.

    where:
        batches  what it is made of
        digest   keyed by the data set's secret
    """

    batches: tuple[PendingBatch, ...]
    blob: str
    digest: str
    ingested: IngestedTable
    measurement: PartMeasurement


def measured_part(
    resources: Resources,
    dataset: Dataset,
    batches: Sequence[PendingBatch],
    blob: str,
    digest: str,
    ingested: IngestedTable,
) -> NewPart:
    """The rows of a finished blob as a part to be."""
    with reading(resources.engine) as connection:
        secret = open_secret(resources, connection, dataset.id)
    part = Part(0, 0, ingested.rows, blob, digest)
    measurement = measure_rows(resources, FreezeInput(dataset.columns, (part,), ()), secret)
    return NewPart(tuple(batches), blob, digest, ingested, measurement)


@contextmanager
def combined_part(
    resources: Resources, dataset: Dataset, batches: Sequence[PendingBatch]
) -> Iterator[NewPart]:
    """The rows of several batches in one blob, without those retired; the body commits it, else nothing of it remains."""
    columns = tuple(
        TableColumn(column.name, column.storage, date_format=column.date_format)
        for column in dataset.columns
    )
    stream = TableStream(columns, _kept_rows(resources, batches))
    with reading(resources.engine) as connection:
        number = len(datasets.parts(connection, dataset.id))
        secret = open_secret(resources, connection, dataset.id)
    blob = blob_name(dataset.id, number)
    with uploading(resources, blob, stream.schema) as writer:
        ingested = ingest(stream, plain_overrides(dataset), writer, resources.limits)
        writer.finish()
        digest = part_digest(secret, writer.digest)
        yield measured_part(resources, dataset, batches, blob, digest, ingested)


def _kept_rows(resources: Resources, batches: Sequence[PendingBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        retired: IntArray = np.array(batch.retired, dtype=np.int64)
        row = 0
        for rows in resources.blobs.read_rows(batch.blob, 0, batch.rows):
            kept = ~np.isin(np.arange(row, row + rows.num_rows), retired)
            yield rows if kept.all() else rows.filter(pa.array(kept))
            row += rows.num_rows


def add_protected_part(
    resources: Resources, uow: UnitOfWork, dataset: Dataset, new: NewPart
) -> Part:
    """Make a part of these rows, protected by what they tell; the principal holds the data set's lock.

    Their ordinals follow all others. The blobs of batches are nobody's from now on.
    """
    connection = uow.connection
    protection = protect_part(
        resources, connection, dataset.id, new.measurement, new.ingested.largest
    )
    number = len(datasets.parts(connection, dataset.id))
    rows = new.ingested.rows
    part = Part(number, dataset.rows, rows, new.blob, new.digest, protection.hash)
    stored = {batch.id for batch in pending_rows.of(connection, dataset.id)}
    for batch in new.batches:
        if batch.id in stored:
            pending_rows.remove(connection, batch, uow.now)
    datasets.add_part(connection, dataset.id, part)
    fresh = {column.name: column for column in new.ingested.columns}
    datasets.set_columns(
        connection,
        dataset.id,
        [with_rows(column, fresh[column.name], rows) for column in dataset.columns],
    )
    known = open_statistics(resources, connection, dataset.id)
    together = replace(known, largest=larger(known.largest, new.ingested.largest))
    datasets.set_statistics(
        connection, dataset.id, seal_statistics(resources, dataset.id, together)
    )
    add_pending_sketches(
        resources,
        connection,
        dataset.id,
        [batch.sketches for batch in new.batches if batch.id in stored],
    )
    publish(resources, connection, RowsAppended(dataset.id))
    return part


def with_rows(column: Column, fresh: Column, rows: int) -> Column:
    """Return a column's statistics with these rows added."""
    nothing_new = fresh.missing == rows
    return replace(
        column,
        missing=(column.missing or 0) + (fresh.missing or 0),
        integer=column.integer and (fresh.integer or nothing_new),
    )


@dataclass(frozen=True)
class PendingRows:
    """The pending rows of a data set.

    where:
        values_needed  in each numeric column that they have at all, to form a part
        fewest_values  that one of these columns has now
    """

    batches: tuple[PendingBatch, ...]
    rows: int
    values_needed: int
    fewest_values: int
    rows_needed: int


def list_pending(resources: Resources, context: RequestContext, dataset_id: str) -> PendingRows:
    """The pending rows, for the data set's owner."""
    with reading(resources.engine) as connection:
        dataset = owned(connection, context, dataset_id)
        batches = pending_rows.of(connection, dataset_id)
    rows = sum(batch.kept_rows for batch in batches)
    counts = np.array([batch.counts for batch in batches], dtype=np.int64).sum(axis=0)
    return PendingRows(
        batches=tuple(batches),
        rows=rows,
        values_needed=needed_values(dataset),
        fewest_values=int(counts[counts > 0].min(initial=rows)),
        rows_needed=dataset.part_rows,
    )


def withdraw_pending(
    resources: Resources, context: RequestContext, dataset_id: str, batch_id: str
) -> None:
    """Delete a batch of pending rows; only the log entry remains."""
    with reading(resources.engine) as connection:
        dataset = owned(connection, context, dataset_id)
        batch = _batch(connection, dataset_id, batch_id)
    keys = _book_keys(resources, dataset, batch, None)
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        owned_and_locked(connection, context, dataset_id)
        if _batch(connection, dataset_id, batch_id) != batch:
            raise Conflict("Rows of this batch were retired meanwhile; look at it, and try again.")
        pending_rows.remove(connection, batch, uow.now)
        remove_keys(connection, dataset_id, keys)
        uow.record("rows.withdraw", dataset_id, batch=batch_id, pending=-batch.kept_rows)
    discard_blobs(resources, [batch.blob])


def close_pending(
    resources: Resources, context: RequestContext, dataset_id: str
) -> tuple[Part, Dataset, tuple[Notice, ...]]:
    """Make a part of all pending rows now, however few they are.

    Conflict when there are none. The notice says what few rows mean for what is promised.
    """
    for _ in range(ATTEMPTS):
        with reading(resources.engine) as connection:
            dataset = owned(connection, context, dataset_id)
            batches = pending_rows.of(connection, dataset_id)
        if not batches:
            raise Conflict("There are no pending rows to be closed.")
        try:
            with (
                combined_part(resources, dataset, batches) as new,
                unit_of_work(resources, context) as uow,
            ):
                connection = uow.connection
                dataset = owned_and_locked(connection, context, dataset_id)
                if pending_rows.of(connection, dataset_id) != batches:
                    raise PendingChanged("Rows came or went while these were closed.")
                part = add_protected_part(resources, uow, dataset, new)
                uow.record(
                    "rows.close", dataset_id, rows=part.rows, pending=-part.rows, part=part.number
                )
                dataset = owned(connection, context, dataset_id)
        except (PendingChanged, FileNotFoundError):
            continue
        discard_blobs(resources, [batch.blob for batch in batches])
        return part, dataset, _few_rows(dataset, batches, part)
    raise Conflict("Rows came or went again and again while these were closed; try again.")


def _few_rows(dataset: Dataset, batches: Sequence[PendingBatch], part: Part) -> tuple[Notice, ...]:
    if is_part(dataset, batches):
        return ()
    return (
        Notice(
            "few-rows",
            f"The share of variance that levels promise (guarantee 3) is measured on these {part.rows} rows alone,"
            f" fewer than the {needed_values(dataset)} values a column that it is usually measured on. Their noise is"
            " never less than that of the first rows.",
        ),
    )


def retire_pending_keys(
    resources: Resources, uow: UnitOfWork, dataset: Dataset, found: dict[str, list[int]]
) -> int:
    """Leave rows of pending batches out of the part to be: batch → places; how many were not left out before."""
    connection = uow.connection
    known = {batch.id: batch for batch in pending_rows.of(connection, dataset.id)}
    retired = 0
    for batch_id, places in found.items():
        if batch_id not in known:
            raise PendingChanged("Pending rows formed a part meanwhile; try again.")
        batch = known[batch_id]
        fresh = sorted(set(places) - set(batch.retired))
        if not fresh:
            continue
        retired += len(fresh)
        remove_keys(connection, dataset.id, _book_keys(resources, dataset, batch, fresh))
        left = replace(batch, retired=tuple(sorted({*batch.retired, *fresh})))
        if left.kept_rows:
            counts = _counts(resources, dataset, left)
            pending_rows.retire(connection, batch.id, left.retired, counts)
        else:
            pending_rows.remove(connection, batch, uow.now)
    return retired


def _counts(resources: Resources, dataset: Dataset, batch: PendingBatch) -> tuple[int, ...]:
    numbers, _ = sampled_columns(dataset.columns)
    found = np.zeros(len(numbers), dtype=np.int64)
    for rows in _kept_rows(resources, [batch]):
        for place, column in enumerate(numbers):
            values = pc.fill_null(rows.column(column.name), np.nan).to_numpy(zero_copy_only=False)
            found[place] += np.count_nonzero(~np.isnan(values))
    return tuple(found.tolist())


def _book_keys(
    resources: Resources, dataset: Dataset, batch: PendingBatch, places: Sequence[int] | None
) -> np.ndarray:
    """Fingerprints of the keys of a batch's rows: those at these places, or all that are not retired."""
    if dataset.key_column is None:
        return np.empty(0, np.uint64)
    with reading(resources.engine) as connection:
        secret = open_secret(resources, connection, dataset.id)
    cells = pa.concat_arrays(
        rows.column(0)
        for rows in resources.blobs.read_rows(batch.blob, 0, batch.rows, [dataset.key_column])
    )
    if places is None:
        places = np.setdiff1d(np.arange(batch.rows), np.array(batch.retired, np.int64)).tolist()
    kept = cells.take(pa.array(places, pa.int64()))
    return book_fingerprints(resources, secret, kept, Decimal(batch.decimal))


def _batch(connection: Connection, dataset_id: str, batch_id: str) -> PendingBatch:
    found = next((b for b in pending_rows.of(connection, dataset_id) if b.id == batch_id), None)
    if found is None:
        raise NotFound(f"there is no pending batch {batch_id!r}; it may have formed a part")
    return found


def pending_batch(
    batch_id: str,
    dataset: Dataset,
    ingested: IngestedTable,
    blob: str,
    sketches: bytes,
    decimal: Decimal,
    now: datetime,
) -> PendingBatch:
    """The rows of an append, as they would be pending."""
    counts = number_counts(dataset, ingested)
    return PendingBatch(
        batch_id, dataset.id, 0, ingested.rows, counts, (), blob, sketches, decimal.value, now
    )
