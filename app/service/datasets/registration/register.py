"""Register a table: rows to the blob store, metadata to the database.

A blob is written so that the database can prove, at any later moment, that it is its own.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime

import pyarrow as pa
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from app.errors import InvalidParameter, NameTaken
from app.model import (
    Column,
    ColumnOverrides,
    Dataset,
    Kind,
    Notice,
    Part,
    Protection,
    Role,
    Storage,
)
from app.service.context import RequestContext, checked_name, new_id, require
from app.service.datasets.overlap.comparison import enter_keys, keep_sketches, with_versions
from app.service.datasets.overlap.row_fingerprints import Fingerprints
from app.service.datasets.protection.declaration import (
    FormalOptions,
    clipped_notices,
    declared_columns,
)
from app.service.datasets.registration.ingestion import IngestedTable, ingest
from app.service.datasets.registration.report import TableReport, table_report
from app.service.datasets.secrets import (
    Statistics,
    new_secret,
    part_digest,
    seal_statistics,
    sealed_secret,
)
from app.service.progress import NO_PROGRESS, Progress
from app.service.resources import Resources
from app.service.unit_of_work import is_duplicate, unit_of_work
from app.store.blobs.store import Upload
from app.store.database.datasets import datasets, orphaned_blobs
from app.store.database.engine import reading, writing
from app.tables.pipeline import infer_columns
from app.tables.stream import TableStream


@contextmanager
def uploading(resources: Resources, blob: str, schema: pa.Schema) -> Iterator[Upload]:
    """An upload whose name the database knows before its first byte is written.

    The body commits the part that refers to the blob, which then is no longer orphaned. Without that the
    blob goes, and its name after it; what a crash or a lost connection leaves is quarantined by the next start.
    """

    def announce() -> None:
        with writing(resources.engine) as connection:
            orphaned_blobs.add(connection, [blob], orphaned_blobs.Reason.UPLOAD, datetime.now(UTC))

    try:
        with resources.blobs.writer(blob, schema, announce) as upload:
            yield upload
    except BaseException:
        with suppress(SQLAlchemyError, OSError):
            if not resources.blobs.has(blob):
                with writing(resources.engine) as connection:
                    orphaned_blobs.forget(connection, blob)
        raise


def discard_blobs(resources: Resources, blobs: Sequence[str]) -> None:
    """Delete blobs whose removal is committed; what a failure here leaves behind, the next start removes."""
    with suppress(OSError):
        for blob in blobs:
            resources.blobs.delete(blob)
        with writing(resources.engine) as connection:
            for blob in blobs:
                orphaned_blobs.forget(connection, blob)


def check_name(resources: Resources, context: RequestContext, name: str) -> None:
    """Refuse what cannot succeed before a byte of the table is read."""
    require(context, Role.OWNER)
    checked_name("name", name)
    with reading(resources.engine) as connection:
        _check_free(connection, context, name)


def register_dataset(
    resources: Resources,
    context: RequestContext,
    name: str,
    stream: TableStream,
    overrides: Mapping[str, ColumnOverrides],
    *,
    key_column: str | None,
    formal: FormalOptions | None = None,
    allow_versions: bool = False,
    allow_overlap: bool = False,
    progress: Progress = NO_PROGRESS,
) -> tuple[Dataset, TableReport, tuple[Notice, ...]]:
    """Store the rows, then commit the data set; without the commit nothing of either remains.

    DuplicateKey when two rows have the same key, RowsOverlap when most rows are in another data set,
    unless the owner allows it; with the data set, how it was read, and what its owner should know of the
    reading and of what it shares with others. With `formal` its protection is formal.
    """
    dataset_id = new_id("ds")
    blob = blob_name(dataset_id, 0)
    secret = new_secret()
    with Fingerprints(resources, stream, key_column, secret) as seen, ExitStack() as stack:
        stream = infer_columns(seen.stream, overrides)
        writer = stack.enter_context(uploading(resources, blob, stream.schema))
        ingested = ingest(stream, overrides, writer, resources.limits, progress)
        progress.report("registering", 1, 2)
        writer.finish()
        dataset = _described(
            dataset_id,
            name,
            context,
            ingested,
            overrides,
            key_column,
            formal,
            stream.read_as.missing,
        )
        statistics = Statistics(ingested.moments, ingested.categories, ingested.largest)
        with unit_of_work(resources, context) as uow:
            _check_free(uow.connection, context, name)
            try:
                datasets.add(
                    uow.connection,
                    dataset,
                    sealed_secret=sealed_secret(resources, dataset_id, secret),
                    sealed_statistics=seal_statistics(resources, dataset_id, statistics),
                )
            except IntegrityError as error:
                # Somebody registered under the name since the look at it.
                raise (_name_taken(name) if is_duplicate(error) else error) from None
            digest = part_digest(secret, writer.digest, formal=dataset.formal)
            part = Part(0, 0, ingested.rows, blob, digest)
            datasets.add_part(uow.connection, dataset_id, part)
            if key_column is not None:
                enter_keys(
                    uow.connection,
                    dataset_id,
                    seen.runs,
                    allow_versions=allow_versions,
                    most_versions=dataset.most_versions,
                )
            notices = keep_sketches(
                resources,
                uow.connection,
                dataset_id,
                dataset.owner,
                seen.sketches,
                allow_overlap=allow_overlap,
            )
            uow.record(
                "dataset.register",
                dataset_id,
                rows=ingested.rows,
                columns=len(dataset.columns),
                overlap=max((one.share or 0.0 for one in notices), default=None),
            )
            dataset = with_versions(uow.connection, [dataset])[0]
    notices += clipped_notices(resources, dataset, part)
    report = table_report(ingested, stream.read_as, formal=dataset.formal)
    return dataset, report, (*stream.notices, *notices)


def try_table(
    resources: Resources,
    context: RequestContext,
    name: str,
    stream: TableStream,
    overrides: Mapping[str, ColumnOverrides],
    *,
    key_column: str | None,
    formal: FormalOptions | None = None,
    progress: Progress = NO_PROGRESS,
) -> tuple[Dataset, TableReport, tuple[Notice, ...]]:
    """All that a registration would find in the table, with nothing stored: the data set has no id."""
    require(context, Role.OWNER)
    stream = infer_columns(stream, overrides)
    ingested = ingest(stream, overrides, NullSink(), resources.limits, progress)
    dataset = _described("", name, context, ingested, overrides, key_column, formal)
    report = table_report(ingested, stream.read_as, formal=dataset.formal)
    return dataset, report, tuple(stream.notices)


def _described(
    dataset_id: str,
    name: str,
    context: RequestContext,
    ingested: IngestedTable,
    overrides: Mapping[str, ColumnOverrides],
    key_column: str | None,
    formal: FormalOptions | None,
    missing_tokens: tuple[str, ...] = (),
) -> Dataset:
    """The data set that a table becomes; under formal protection with the columns declared alone."""
    columns = ingested.columns
    if formal is not None:
        said = overrides if key_column is None else {**overrides, key_column: None}
        columns = declared_columns(columns, said)
    _check_key_column(columns, key_column)
    return Dataset(
        id=dataset_id,
        name=name,
        owner=context.principal.id,
        rows=ingested.rows,
        retired=0,
        columns=columns,
        key_column=key_column,
        created_at=datetime.now(UTC),
        missing_tokens=missing_tokens,
        protection=Protection.MEASURED if formal is None else Protection.FORMAL,
        least_variance=None if formal is None else formal.least_variance,
        person_rows=1 if formal is None else formal.person_rows,
    )


class NullSink:
    """A sink that keeps nothing."""

    def write(self, batch: pa.RecordBatch, /) -> None:
        """Discard the rows."""


def blob_name(dataset_id: str, part: int) -> str:
    """Return the blob name of a part."""
    return f"{dataset_id}-{part:06d}-{secrets.token_hex(4)}"


def _check_free(connection: Connection, context: RequestContext, name: str) -> None:
    if datasets.name_taken(connection, context.principal.id, name):
        raise _name_taken(name)


def _name_taken(name: str) -> NameTaken:
    return NameTaken(f"you have a data set named {name!r} already", parameter="name")


def _check_key_column(columns: tuple[Column, ...], key_column: str | None) -> None:
    if key_column is None:
        return
    column = next((column for column in columns if column.name == key_column), None)
    if column is None:
        raise InvalidParameter(f"there is no column {key_column!r}", parameter="key_column")
    if column.kind is not Kind.IDENTIFIER or column.storage is not Storage.TEXT:
        raise InvalidParameter(
            f"column {key_column!r} is {column.kind.value}; a key column must be an identifier"
            f' (say so: columns={{"{key_column}": "identifier"}})',
            parameter="key_column",
            column=key_column,
        )
