"""Set kinds and options of columns, until the first copy exists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pyarrow.compute as pc
from sqlalchemy import Connection

from app.errors import DatasetFrozen, InvalidParameter
from app.model import Column, ColumnOverrides, Dataset, Kind, Storage
from app.service.context import RequestContext, owned, owned_and_locked
from app.service.datasets.protection.declaration import declared_columns, declared_kinds
from app.service.datasets.registration.column_conversion import read_again, refuse_changed
from app.service.datasets.secrets import open_statistics, seal_statistics
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.datasets import datasets
from app.store.database.engine import reading
from app.tables.columns import refuse_unknown_columns, with_overrides
from app.tables.stream import category_text


def put_columns(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    overrides: Mapping[str, ColumnOverrides],
) -> Dataset:
    """Change the columns named; DatasetFrozen once a copy was issued.

    A column whose kind needs another storage is read again from the stored rows first.
    """
    with reading(resources.engine) as connection:
        before = owned(connection, context, dataset_id)
    if before.formal:
        overrides = declared_kinds(overrides, before.columns)
    with (
        read_again(resources, context, dataset_id, overrides) as rewritten,
        unit_of_work(resources, context) as uow,
    ):
        connection = uow.connection
        dataset = owned_and_locked(connection, context, dataset_id)
        if dataset.frozen:
            raise DatasetFrozen("a copy of this data set was issued, so its columns stay")
        if rewritten is not None:
            refuse_changed(connection, rewritten, dataset)
            rewritten.commit(resources, connection, uow.now)
            dataset = replace(dataset, columns=rewritten.columns)
        refuse_unknown_columns(overrides, tuple(column.name for column in dataset.columns))
        columns = tuple(
            with_overrides(column, overrides[column.name]) if column.name in overrides else column
            for column in dataset.columns
        )
        if dataset.formal:
            columns = declared_columns(columns, {column.name: None for column in columns})
        _keep_key_column(dataset, columns)
        if not dataset.formal:
            _count_categories(resources, connection, dataset, columns)
        datasets.set_columns(connection, dataset_id, columns)
        uow.record("columns.put", dataset_id, columns=len(overrides))
    return replace(dataset, columns=columns)


def _keep_key_column(dataset: Dataset, columns: tuple[Column, ...]) -> None:
    for column in columns:
        if column.name == dataset.key_column and column.kind is not Kind.IDENTIFIER:
            raise InvalidParameter(
                f"column {column.name!r} is the key column and must stay an identifier",
                column=column.name,
            )


def _count_categories(
    resources: Resources,
    connection: Connection,
    dataset: Dataset,
    columns: tuple[Column, ...],
) -> None:
    """Make sure that the categories of every categorical column are counted.

    Text was counted when it came in; numbers that become categories are read once more.
    """
    statistics = open_statistics(resources, connection, dataset.id)
    counted = dict(statistics.categories)
    for column in columns:
        if column.kind is not Kind.CATEGORICAL or column.name in counted:
            continue
        counts: Counter[str] = Counter()
        if column.storage is Storage.NUMBER:
            for part in datasets.parts(connection, dataset.id):
                for batch in resources.blobs.read_rows(part.blob, 0, part.rows, [column.name]):
                    found = pc.value_counts(category_text(batch.column(0).drop_null()))
                    names, numbers = found.flatten()
                    counts.update(dict(zip(names.to_pylist(), numbers.to_pylist(), strict=True)))
        limit = resources.limits.categories
        if column.storage is Storage.TEXT or len(counts) > limit:
            raise InvalidParameter(
                f"column {column.name!r} has more than {limit} different values and cannot be"
                " categorical",
                column=column.name,
                limit=limit,
            )
        counted[column.name] = counts
    if counted.keys() != statistics.categories.keys():
        together = replace(statistics, categories=counted)
        sealed = seal_statistics(resources, dataset.id, together)
        datasets.set_statistics(connection, dataset.id, sealed)
