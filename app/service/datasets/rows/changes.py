"""Append and retire rows of a data set; nothing is changed in place.

Appended rows are a further part, with ordinals after all before it, or pending until they form one. Retired ones keep
their ordinals, and later downloads leave them out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection

from app.errors import Conflict, InvalidParameter, InvalidTable, NotFound
from app.model import Column, ColumnOverrides, Dataset, Notice, Part, Storage
from app.service.context import RequestContext, new_id, owned, owned_and_locked
from app.service.datasets.overlap.comparison import enter_keys, extend_sketches, sealed_sketches
from app.service.datasets.overlap.row_fingerprints import Fingerprints
from app.service.datasets.protection.declaration import clipped_notices
from app.service.datasets.protection.part_protection import PartProtection, first_protection
from app.service.datasets.registration.ingestion import IngestedTable, ingest, refuse_too_many
from app.service.datasets.registration.register import blob_name, discard_blobs, uploading
from app.service.datasets.rows.pending_rows import (
    ATTEMPTS,
    NewPart,
    PendingChanged,
    add_protected_part,
    combined_part,
    is_part,
    measured_part,
    pending_batch,
    plain_overrides,
    retire_pending_keys,
    with_rows,
)
from app.service.datasets.secrets import (
    Statistics,
    merged,
    open_secret,
    open_statistics,
    part_digest,
    seal_statistics,
)
from app.service.events import RowsAppended, publish
from app.service.progress import NO_PROGRESS, Progress
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.datasets import datasets, orphaned_blobs, pending_rows
from app.store.database.datasets.pending_rows import PendingBatch
from app.store.database.engine import reading
from app.tables.pipeline import infer_columns
from app.tables.stream import Decimal, ReadOptions, TableColumn, TableStream
from app.tables.values.units import refuse_other_unit


def expected_options(
    resources: Resources, context: RequestContext, dataset_id: str, options: ReadOptions
) -> ReadOptions:
    """Return the options by which rows to come are read as those before them.

    What stood for a missing cell in the rows before does so in these too.
    """
    with reading(resources.engine) as connection:
        dataset = owned(connection, context, dataset_id)
    # Dates come as texts, which are made days afterwards.
    storage = {
        column.name: Storage.TEXT if column.kind.dated else column.storage
        for column in dataset.columns
    }
    missing = _together(dataset.missing_tokens, options.missing)
    return replace(options, missing=missing, storage=storage)


def _together(known: Iterable[str], said: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *said)))


@dataclass(frozen=True)
class AppendResult:
    """Result of an append.

    where:
        first_row  the ordinal of the first of them; None while they are pending
        batch      what they are called while they are pending
    """

    rows: int
    first_row: int | None
    batch: str | None
    dataset: Dataset
    notices: tuple[Notice, ...]


def append_rows(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    stream: TableStream,
    *,
    allow_versions: bool = False,
    allow_overlap: bool = False,
    progress: Progress = NO_PROGRESS,
) -> AppendResult:
    """Store the rows and commit them as the next part, or as pending rows.

    Until the first copy they are a part and the statistics take them in. After it they are a part once they, or all
    pending rows together, are enough to measure noise on (`pending`). InvalidTable for other columns than the data
    set's, or numbers in another unit; DuplicateKey when a key has a row already, DuplicateRows when without keys
    most rows are there already, RowsOverlap when the data set comes to share most rows with another, unless
    the owner allows it.
    """
    with reading(resources.engine) as connection:
        dataset = owned(connection, context, dataset_id)
        number = len(datasets.parts(connection, dataset_id))
        secret = open_secret(resources, connection, dataset_id)
    overrides = {column.name: ColumnOverrides(kind=column.kind) for column in dataset.columns}
    blob = blob_name(dataset_id, number)
    with (
        Fingerprints(resources, stream, dataset.key_column, secret) as seen,
        ExitStack() as stack,
    ):
        stream = infer_columns(seen.stream, overrides)
        _check_columns(dataset, stream)
        _check_units(dataset, stream.columns)
        writer = stack.enter_context(uploading(resources, blob, stream.schema))
        if dataset.frozen:
            overrides = plain_overrides(dataset)
        ingested = ingest(stream, overrides, writer, resources.limits, progress)
        progress.report("appending", 1, 2)
        writer.finish()
        arrived = _Arrived(
            resources,
            context,
            ingested,
            batch=pending_batch(
                new_id("pb"),
                dataset,
                ingested,
                blob,
                sealed_sketches(resources, dataset_id, seen.sketches),
                stream.read_as.decimal or Decimal.POINT,
                datetime.now(UTC),
            ),
            digest=part_digest(secret, writer.digest, formal=dataset.formal),
            seen=seen,
            tokens=stream.read_as.missing,
            allow_versions=allow_versions,
            allow_overlap=allow_overlap,
        )
        appended, unused = arrived.kept(dataset_id)
    discard_blobs(resources, unused)
    return replace(appended, notices=(*stream.notices, *appended.notices))


@dataclass(frozen=True, repr=False)
class _Arrived:
    """Rows in a finished blob, to be committed."""

    resources: Resources
    context: RequestContext
    ingested: IngestedTable
    batch: PendingBatch
    digest: str
    seen: Fingerprints
    tokens: tuple[str, ...]
    allow_versions: bool
    allow_overlap: bool

    def kept(self, dataset_id: str) -> tuple[AppendResult, list[str]]:
        """Commit the rows; with the blobs that nobody needs any more."""
        for _ in range(ATTEMPTS):
            # What is measured before the lock is taken holds as long as no other rows come or go.
            with suppress(PendingChanged, FileNotFoundError), self._measured(dataset_id) as new:
                return self._committed(dataset_id, new)
        raise Conflict("Rows came or went again and again while these were appended; try again.")

    @contextmanager
    def _measured(self, dataset_id: str) -> Iterator[NewPart | None]:
        """The part that these rows would form now, alone or with all pending ones; None where they form none."""
        with reading(self.resources.engine) as connection:
            dataset = owned(connection, self.context, dataset_id)
            made_of = self._made_of(connection, dataset)
        if made_of is None:
            yield None
        elif len(made_of) == 1:
            blob = self.batch.blob
            yield measured_part(self.resources, dataset, made_of, blob, self.digest, self.ingested)
        else:
            with combined_part(self.resources, dataset, made_of) as new:
                yield new

    def _made_of(self, connection: Connection, dataset: Dataset) -> list[PendingBatch] | None:
        if not dataset.frozen or dataset.formal:
            return None
        together = [*pending_rows.of(connection, dataset.id), self.batch]
        for batches in ([self.batch], together):
            if is_part(dataset, batches):
                return batches
        return None

    def _committed(self, dataset_id: str, new: NewPart | None) -> tuple[AppendResult, list[str]]:
        resources = self.resources
        with unit_of_work(resources, self.context) as uow:
            connection = uow.connection
            dataset = owned_and_locked(connection, self.context, dataset_id)
            _check_units(dataset, self.ingested.columns)
            made_of = self._made_of(connection, dataset)
            if made_of != (None if new is None else list(new.batches)):
                raise PendingChanged("Rows came or went while these were measured.")
            tokens = _together(dataset.missing_tokens, self.tokens)
            datasets.set_missing_tokens(connection, dataset_id, tokens)
            if dataset.key_column is not None:
                enter_keys(
                    connection,
                    dataset_id,
                    self.seen.runs,
                    allow_versions=self.allow_versions,
                    most_versions=dataset.most_versions,
                )
            still = [
                one for one in pending_rows.of(connection, dataset_id) if one not in (made_of or ())
            ]
            unused: list[str] = []
            part: Part | None = None
            if not dataset.frozen or dataset.formal:
                part = self._add_part(connection, dataset)
            elif new is not None:
                unused = [one.blob for one in new.batches if one.blob != new.blob]
                part = add_protected_part(resources, uow, dataset, new)
                if self.batch.blob != new.blob:
                    orphaned_blobs.abandon(connection, self.batch.blob)
            else:
                number = pending_rows.next_sequence(connection, dataset_id)
                pending_rows.add(connection, replace(self.batch, sequence=number))
            notices = extend_sketches(
                resources,
                connection,
                dataset_id,
                dataset.owner,
                self.seen.sketches,
                pending=[one.sketches for one in still],
                keep=part is not None,
                # Under formal protection equal rows are told of, and no row is refused for its values.
                allow_versions=self.allow_versions or dataset.formal,
                allow_overlap=self.allow_overlap or dataset.formal,
            )
            first = first_protection(resources, connection, dataset_id)
            if first is not None and not dataset.formal:
                notices += unit_notices(first, self.ingested)
            if dataset.formal and part is not None:
                notices += clipped_notices(resources, dataset, part)
            rows = self.ingested.rows
            uow.record(
                "rows.append",
                dataset_id,
                rows=0 if part is None else part.rows,
                pending=rows if part is None else rows - part.rows,
                part=None if part is None else part.number,
            )
            appended = AppendResult(
                rows=rows,
                first_row=None if part is None else part.end_row - rows,
                batch=self.batch.id if part is None else None,
                dataset=owned(connection, self.context, dataset_id),
                notices=notices,
            )
            return appended, unused

    def _add_part(self, connection: Connection, dataset: Dataset) -> Part:
        """Make a part of the rows before the first copy: all that is known of the data set takes them in.

        Under formal protection every later part is released by the first one's protection, at once.
        """
        resources, ingested = self.resources, self.ingested
        number = len(datasets.parts(connection, dataset.id))
        known = datasets.first_protection(connection, dataset.id)
        part = Part(number, dataset.rows, ingested.rows, self.batch.blob, self.digest, known)
        datasets.add_part(connection, dataset.id, part)
        fresh = {column.name: column for column in ingested.columns}
        columns = [
            # Numbers of before of which no unit is known may have had any.
            replace(
                with_rows(column, fresh[column.name], part.rows),
                unit=fresh[column.name].unit if column.missing == dataset.rows else column.unit,
            )
            for column in dataset.columns
        ]
        datasets.set_columns(connection, dataset.id, columns)
        together = merged(
            open_statistics(resources, connection, dataset.id),
            Statistics(ingested.moments, ingested.categories, ingested.largest),
        )
        if not dataset.formal:
            refuse_too_many(dataset.columns, together.categories, resources.limits.categories)
        sealed = seal_statistics(resources, dataset.id, together)
        datasets.set_statistics(connection, dataset.id, sealed)
        publish(resources, connection, RowsAppended(dataset.id))
        return part


MUCH = 5.0
"""Spreads of the first part: rows that lie or spread further are likely in another unit."""


def unit_notices(first: PartProtection, ingested: IngestedTable) -> tuple[Notice, ...]:
    """A word on each number that lies far from those of the first part, or spreads much further.

    Not on log scales, where another unit is a shift by few spreads.
    """
    moments = ingested.moments
    spreads = np.sqrt(np.diag(moments.comoment) / np.maximum(moments.counts - 1, 1))
    found = []
    known = zip(first.numeric, first.scale_units, first.means, first.variances, strict=True)
    for name, mean, variance in ((name, *rest) for name, unit, *rest in known if unit is None):
        place = ingested.numbers.index(name)
        limit = MUCH * math.sqrt(variance)
        if abs(moments.means[place] - mean) > limit or spreads[place] > limit:
            found.append(Notice("other-scale", _sentence(name), column=name))
    return tuple(found)


def _sentence(name: str) -> str:
    return (
        f"In column {name!r} these rows lie or spread more than {MUCH:.0f} times as far as the first rows do. If they are in another"
        " unit, withdraw them while they are pending and send them again; otherwise nothing is wrong."
    )


def _check_columns(dataset: Dataset, stream: TableStream) -> None:
    expected = [(column.name, column.storage) for column in dataset.columns]
    given = [(column.name, column.storage) for column in stream.columns]
    if expected == given:
        return
    for column in stream.columns:
        known = dataset.column(column.name)
        if known is None:
            raise InvalidTable(
                f"the data set has no column {column.name!r}; it has"
                f" {', '.join(repr(one.name) for one in dataset.columns)}",
                column=column.name,
            )
        if known.storage is not column.storage:
            raise InvalidTable(
                f"column {column.name!r} holds {known.storage.value}s in the data set and"
                f" {column.storage.value}s in these rows",
                column=column.name,
            )
    missing = {name for name, _ in expected} - {name for name, _ in given}
    if missing:
        name = min(missing)
        raise InvalidTable(f"column {name!r} is missing from these rows", column=name)
    raise InvalidTable("the columns are not in the order of the data set")


def _check_units(dataset: Dataset, given: Iterable[Column | TableColumn]) -> None:
    """InvalidTable for numbers that came with another sign than those before them."""
    known = {column.name: column.unit for column in dataset.columns}
    for column in given:
        refuse_other_unit(column.name, known[column.name], column.unit, "the data set")


def retire_rows(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    *,
    rows: Sequence[int] | None,
    keys: Sequence[str] | None,
) -> tuple[int, Dataset]:
    """Withdraw rows by ordinal or by key; how many were not withdrawn before."""
    if (rows is None) == (keys is None):
        raise InvalidParameter("give either rows or keys", parameter="rows")
    with reading(resources.engine) as connection:
        dataset = owned(connection, context, dataset_id)
        parts = datasets.parts(connection, dataset_id)
        batches = pending_rows.of(connection, dataset_id)
    # Rows never change, so they are searched before the lock is taken.
    found = _Found(list(rows or ()), {})
    if keys is not None:
        found = _rows_of_keys(resources, dataset, parts, batches, keys)
    with unit_of_work(resources, context) as uow:
        dataset = owned_and_locked(uow.connection, context, dataset_id)
        if found.ordinals and max(found.ordinals) >= dataset.rows:
            raise InvalidParameter(
                f"the data set has rows 0 to {dataset.rows - 1}", parameter="rows"
            )
        retired = datasets.retire(uow.connection, dataset_id, found.ordinals)
        left_out = retire_pending_keys(resources, uow, dataset, found.pending)
        uow.record("rows.retire", dataset_id, rows=retired, pending=-left_out)
        return retired + left_out, owned(uow.connection, context, dataset_id)


@dataclass(frozen=True)
class _Found:
    """Rows by ordinal, and places of pending rows by batch."""

    ordinals: list[int]
    pending: dict[str, list[int]]


def _rows_of_keys(
    resources: Resources,
    dataset: Dataset,
    parts: Sequence[Part],
    batches: Sequence[PendingBatch],
    keys: Sequence[str],
) -> _Found:
    """All rows whose key is among `keys`; each key must occur."""
    if dataset.key_column is None:
        raise InvalidParameter(
            "the data set was registered without key_column; retire rows by ordinal",
            parameter="keys",
        )
    wanted = pa.array(sorted(set(keys)), pa.large_string())
    found = _Found([], {})
    seen: set[str] = set()

    def places(blob: str, rows: int) -> Iterator[int]:
        row = 0
        for batch in resources.blobs.read_rows(blob, 0, rows, [dataset.key_column or ""]):
            column = batch.column(0)
            matches = pc.indices_nonzero(pc.is_in(column, value_set=wanted))
            yield from (row + index for index in matches.to_pylist())
            seen.update(column.take(matches).to_pylist())
            row += batch.num_rows

    for part in parts:
        found.ordinals.extend(part.first_row + row for row in places(part.blob, part.rows))
    for batch in batches:
        within = list(places(batch.blob, batch.rows))
        if within:
            found.pending[batch.id] = within
    if len(seen) < len(wanted):
        # Which keys are unknown is not said: keys are data.
        raise NotFound(f"{len(wanted) - len(seen)} of the keys do not occur; nothing was retired")
    return found
