"""The rows of a data set, which are only ever added or retired.

Appended rows are a further part, with ordinals after all before it. Retired ones keep their ordinals, and later
downloads leave them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection

from app.errors import InvalidParameter, InvalidTable, NotFound
from app.model import Column, ColumnWish, Dataset, Kind, Notice, Part, Storage
from app.service.asking import Ask, owned, owned_and_locked, work
from app.service.copies.freezing.frozen import Frozen, open_frozen
from app.service.copies.later_parts.placing import Uncovered, place
from app.service.copies.later_parts.relating import drift_notices
from app.service.datasets.arriving.ingest import ingest, refuse_too_many
from app.service.datasets.arriving.register import blob_name, dated, uploading
from app.service.datasets.secrets import (
    Statistics,
    larger,
    merged,
    open_secret,
    open_statistics,
    part_digest,
    seal_statistics,
)
from app.service.datasets.seen_before.comparing import enter_keys, extend_sketches
from app.service.datasets.seen_before.fingerprinting import Fingerprints
from app.service.jobs.progress import SILENT, Progress
from app.service.resources import Resources
from app.service.sharing.deliveries.planning import rows_came
from app.store.database.copies import history
from app.store.database.engine import reading
from app.store.database.registered import datasets
from app.tables.stream import DateOrder, ReadingWishes, TableColumn, TableStream
from app.tables.values.units import refuse_other_unit


def expected_reading(
    resources: Resources, ask: Ask, dataset_id: str, wishes: ReadingWishes
) -> tuple[dict[str, Storage], ReadingWishes]:
    """How each column of the rows to come must be read, and what is said of their text.

    What stood for a missing cell in the rows before does so in these too.
    """
    with reading(resources.engine) as connection:
        dataset = owned(connection, ask, dataset_id)
    # Dates come as texts, which are made days afterwards.
    storage = {
        column.name: Storage.TEXT if column.kind is Kind.DATE else column.storage
        for column in dataset.columns
    }
    return storage, replace(wishes, missing=_together(dataset.missing_tokens, wishes.missing))


def _together(known: Iterable[str], said: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *said)))


def append_rows(
    resources: Resources,
    ask: Ask,
    dataset_id: str,
    stream: TableStream,
    uncovered: Uncovered = Uncovered.REFUSE,
    dates: DateOrder | None = None,
    *,
    allow_versions: bool = False,
    allow_overlap: bool = False,
    progress: Progress = SILENT,
) -> tuple[Part, Dataset, tuple[Notice, ...]]:
    """Store the rows and commit them as the next part.

    Until the first copy the statistics take the new rows in; after it they are frozen
    (invariant 5), and the part gets a shape of its own, uses the newest, or waits (`placing`).
    InvalidTable for other columns than the data set's, or numbers in another unit; RowsUncovered when
    the part may do none of these; KeyRepeated when a key has a row already, RowsAgain when without keys
    most rows are there already, RowsOverlap when the data set comes to share most rows with another, unless
    the owner allows it.
    """
    with reading(resources.engine) as connection:
        dataset = owned(connection, ask, dataset_id)
        number = len(datasets.parts(connection, dataset_id))
        secret = open_secret(resources, connection, dataset_id)
    wishes = {column.name: ColumnWish(kind=column.kind) for column in dataset.columns}
    blob = blob_name(dataset_id, number)
    with (
        Fingerprints(resources, stream, dataset.key_column, secret) as seen,
        ExitStack() as stack,
    ):
        stream = dated(seen.stream, wishes, dates)
        _check_columns(dataset, stream)
        _check_units(dataset, stream.columns)
        writer = stack.enter_context(uploading(resources, blob, stream.schema))
        ingested = ingest(stream, wishes, writer, resources.limits, progress)
        progress.tell("appending", 1, 2)
        writer.finish()
        fresh = {column.name: column for column in ingested.columns}
        with work(resources, ask) as under_way:
            connection = under_way.connection
            dataset = owned_and_locked(connection, ask, dataset_id)
            _check_units(dataset, ingested.columns)
            number = len(datasets.parts(connection, dataset_id))
            secret = open_secret(resources, connection, dataset_id)
            digest = part_digest(secret, writer.digest)
            part = Part(number, dataset.rows, ingested.rows, blob, digest)
            frozen = open_frozen(resources, connection, dataset_id)
            elsewhere: tuple[Notice, ...] = ()
            if frozen is not None:
                elsewhere = drift_notices(frozen, ingested.numbers, ingested.moments)
                _check_carried(connection, dataset_id, frozen, ingested.largest)
                part = place(resources, connection, dataset_id, part, frozen, uncovered)
            datasets.add_part(connection, dataset_id, part)
            columns = [
                _with_rows(column, fresh[column.name], dataset.rows, part.rows)
                for column in dataset.columns
            ]
            datasets.set_columns(connection, dataset_id, columns)
            tokens = _together(dataset.missing_tokens, stream.read_as.missing)
            datasets.set_missing_tokens(connection, dataset_id, tokens)
            known = open_statistics(resources, connection, dataset_id)
            if dataset.frozen:
                together = replace(known, largest=larger(known.largest, ingested.largest))
            else:
                together = merged(
                    known, Statistics(ingested.moments, ingested.categories, ingested.largest)
                )
                refuse_too_many(dataset.columns, together.categories, resources.limits.categories)
            sealed = seal_statistics(resources, dataset_id, together)
            datasets.set_statistics(connection, dataset_id, sealed)
            if dataset.key_column is not None:
                enter_keys(connection, dataset_id, seen.runs, allow_versions=allow_versions)
            notices = extend_sketches(
                resources,
                connection,
                dataset_id,
                dataset.owner,
                seen.sketches,
                allow_versions=allow_versions,
                allow_overlap=allow_overlap,
            )
            rows_came(resources, connection, dataset_id)
            under_way.record(
                "rows.append", dataset_id, rows=ingested.rows, part=number, waiting=part.waiting
            )
            told = (*stream.notices, *notices, *elsewhere)
            return part, owned(connection, ask, dataset_id), told


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


def _check_carried(
    connection: Connection, dataset_id: str, frozen: Frozen, largest: Mapping[str, float]
) -> None:
    """Refuse rows that a copy already issued could not perturb."""
    smallest = min(one.applied_variance for one in history.of(connection, dataset_id))
    frozen.check_carried(smallest, largest)


def _with_rows(column: Column, fresh: Column, before: int, rows: int) -> Column:
    nothing_new = fresh.missing == rows
    # Numbers of before of which no unit is known may have had any.
    began = column.missing == before
    return replace(
        column,
        missing=(column.missing or 0) + (fresh.missing or 0),
        integer=column.integer and (fresh.integer or nothing_new),
        unit=fresh.unit if began else column.unit,
    )


def retire_rows(
    resources: Resources,
    ask: Ask,
    dataset_id: str,
    *,
    rows: Sequence[int] | None,
    keys: Sequence[str] | None,
) -> tuple[int, Dataset]:
    """Withdraw rows by ordinal or by key; how many were not withdrawn before."""
    if (rows is None) == (keys is None):
        raise InvalidParameter("give either rows or keys", parameter="rows")
    with reading(resources.engine) as connection:
        dataset = owned(connection, ask, dataset_id)
        parts = datasets.parts(connection, dataset_id)
    # Rows never change, so they are searched before the lock is taken.
    ordinals = rows if keys is None else _rows_of_keys(resources, dataset, parts, keys)
    assert ordinals is not None
    with work(resources, ask) as under_way:
        dataset = owned_and_locked(under_way.connection, ask, dataset_id)
        if ordinals and max(ordinals) >= dataset.rows:
            raise InvalidParameter(
                f"the data set has rows 0 to {dataset.rows - 1}", parameter="rows"
            )
        retired = datasets.retire(under_way.connection, dataset_id, ordinals)
        under_way.record("rows.retire", dataset_id, rows=retired)
        return retired, owned(under_way.connection, ask, dataset_id)


def _rows_of_keys(
    resources: Resources, dataset: Dataset, parts: Sequence[Part], keys: Sequence[str]
) -> list[int]:
    """The ordinals of all rows whose key is among `keys`; each key must occur."""
    if dataset.key_column is None:
        raise InvalidParameter(
            "the data set was registered without key_column; retire rows by ordinal",
            parameter="keys",
        )
    wanted = pa.array(sorted(set(keys)), pa.large_string())
    found: list[int] = []
    seen: set[str] = set()
    for part in parts:
        row = part.first_row
        for batch in resources.blobs.read_rows(part.blob, 0, part.rows, [dataset.key_column]):
            column = batch.column(0)
            matches = pc.indices_nonzero(pc.is_in(column, value_set=wanted))
            found += [row + index for index in matches.to_pylist()]
            seen.update(column.take(matches).to_pylist())
            row += batch.num_rows
    if len(seen) < len(wanted):
        # Which keys are unknown is not said: keys are data.
        raise NotFound(f"{len(wanted) - len(seen)} of the keys do not occur; nothing was retired")
    return found
