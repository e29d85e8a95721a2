"""Registering a table: its rows go to the blob store, what is said of it to the database."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy import Connection

from app.errors import InvalidParameter, NameTaken
from app.model import Column, ColumnWish, Dataset, Kind, Part, Role, Storage
from app.service.access import require
from app.service.asking import Ask, new_id, work
from app.service.ingest import ingest
from app.service.naming import checked_name
from app.service.resources import Resources
from app.service.secrets import new_sealed_secret
from app.service.statistics import Statistics, seal_statistics
from app.service.table_stream import TableStream
from app.store import audit_log, datasets
from app.store.engine import reading


def check_name(resources: Resources, ask: Ask, name: str) -> None:
    """Refuse what cannot succeed before a byte of the table is read."""
    require(ask, Role.OWNER)
    checked_name("name", name)
    with reading(resources.engine) as connection:
        _check_free(connection, ask, name)


def register_dataset(
    resources: Resources,
    ask: Ask,
    name: str,
    stream: TableStream,
    wishes: Mapping[str, ColumnWish],
    *,
    key_column: str | None,
) -> Dataset:
    """Store the rows, then commit the data set; without the commit nothing of either remains."""
    dataset_id = new_id("ds")
    blob = blob_name(dataset_id, 0)
    with resources.blobs.writer(blob, stream.schema) as writer:
        ingested = ingest(stream, wishes, writer, resources.limits)
        writer.finish()
        _check_key_column(ingested.columns, key_column)
        dataset = Dataset(
            id=dataset_id,
            name=name,
            owner=ask.caller.id,
            rows=ingested.rows,
            retired=0,
            columns=ingested.columns,
            key_column=key_column,
            created_at=datetime.now(UTC),
        )
        statistics = Statistics(ingested.moments, ingested.categories, ingested.largest)
        with work(resources, ask) as under_way:
            audit_log.queue(under_way.connection)
            _check_free(under_way.connection, ask, name)
            datasets.add(
                under_way.connection,
                dataset,
                sealed_secret=new_sealed_secret(resources, dataset_id),
                sealed_statistics=seal_statistics(resources, dataset_id, statistics),
            )
            part = Part(0, 0, ingested.rows, blob)
            datasets.add_part(under_way.connection, dataset_id, part)
            under_way.record(
                "dataset.register", dataset_id, rows=ingested.rows, columns=len(dataset.columns)
            )
    return dataset


def blob_name(dataset_id: str, part: int) -> str:
    """Where a part's rows lie."""
    return f"{dataset_id}-{part:06d}-{secrets.token_hex(4)}"


def _check_free(connection: Connection, ask: Ask, name: str) -> None:
    if datasets.name_taken(connection, ask.caller.id, name):
        raise NameTaken(f"you have a data set named {name!r} already", parameter="name")


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
