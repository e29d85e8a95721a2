"""Appending rows: a further part of the data set, with ordinals after all before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection

from app.errors import InvalidTable
from app.model import Column, ColumnWish, Dataset, Part, Storage
from app.service.access import owned, owned_and_locked
from app.service.asking import Ask, work
from app.service.ingest import ingest, refuse_too_many
from app.service.register import blob_name
from app.service.resources import Resources
from app.service.shape import open_shape
from app.service.statistics import (
    Statistics,
    larger,
    merged,
    open_statistics,
    seal_statistics,
)
from app.service.table_stream import TableStream
from app.store import datasets, history
from app.store.engine import reading


def expected_storage(resources: Resources, ask: Ask, dataset_id: str) -> dict[str, Storage]:
    """How each column of the rows to come must be read."""
    with reading(resources.engine) as connection:
        dataset = owned(connection, ask, dataset_id)
    return {column.name: column.storage for column in dataset.columns}


def append_rows(
    resources: Resources, ask: Ask, dataset_id: str, stream: TableStream
) -> tuple[Part, Dataset]:
    """Store the rows and commit them as the next part.

    Until the first copy the statistics take the new rows in; after it they are frozen
    (invariant 5), and later rows use them as they are.
    """
    with reading(resources.engine) as connection:
        dataset = owned(connection, ask, dataset_id)
        number = len(datasets.parts(connection, dataset_id))
    _check_columns(dataset, stream)
    blob = blob_name(dataset_id, number)
    with resources.blobs.writer(blob, stream.schema) as writer:
        wishes = {column.name: ColumnWish(kind=column.kind) for column in dataset.columns}
        ingested = ingest(stream, wishes, writer, resources.limits)
        writer.finish()
        fresh = {column.name: column for column in ingested.columns}
        with work(resources, ask) as under_way:
            connection = under_way.connection
            dataset = owned_and_locked(connection, ask, dataset_id)
            number = len(datasets.parts(connection, dataset_id))
            part = Part(number, dataset.rows, ingested.rows, blob)
            datasets.add_part(connection, dataset_id, part)
            columns = [
                _with_rows(column, fresh[column.name], part.rows) for column in dataset.columns
            ]
            datasets.set_columns(connection, dataset_id, columns)
            _check_carried(resources, connection, dataset_id, ingested.largest)
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
            under_way.record("rows.append", dataset_id, rows=ingested.rows, part=number)
    return part, replace(dataset, rows=dataset.rows + part.rows, columns=tuple(columns))


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


def _check_carried(
    resources: Resources, connection: Connection, dataset_id: str, largest: Mapping[str, float]
) -> None:
    """Refuse rows that a copy already issued could not perturb."""
    shape = open_shape(resources, connection, dataset_id)
    if shape is not None:
        smallest = min(one.noise_variance for one in history.of(connection, dataset_id))
        shape.check_carried(smallest, largest)


def _with_rows(column: Column, fresh: Column, rows: int) -> Column:
    nothing_new = fresh.missing == rows
    return replace(
        column,
        missing=column.missing + fresh.missing,
        integer=column.integer and (fresh.integer or nothing_new),
    )
