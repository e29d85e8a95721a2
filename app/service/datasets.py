"""Data sets as they are: show, list, remove."""

from __future__ import annotations

from datetime import UTC, datetime

from app.model import Column, Dataset, Grant, Kind, Role
from app.service.access import owned_and_locked, visible
from app.service.asking import Ask, work
from app.service.resources import Resources
from app.store import datasets
from app.store.engine import reading


def show_dataset(resources: Resources, ask: Ask, dataset_id: str) -> Dataset:
    """One data set; a recipient sees the columns that can reach it."""
    with reading(resources.engine) as connection:
        dataset, grant = visible(connection, ask, dataset_id)
    return dataset if grant is None else _as_granted(dataset, grant)


def list_datasets(resources: Resources, ask: Ask, *, after: str, limit: int) -> list[Dataset]:
    """Data sets by id: all for administrators and auditors, else one's own or those granted."""
    role = ask.caller.role
    with reading(resources.engine) as connection:
        if role is not Role.RECIPIENT:
            owner = ask.caller.id if role is Role.OWNER else None
            return datasets.page(connection, after=after, limit=limit, owner=owner)
        granted = datasets.page(
            connection, after=after, limit=limit, granted_to=ask.caller.id, now=datetime.now(UTC)
        )
        return [_as_granted(one, visible(connection, ask, one.id)[1]) for one in granted]


def remove_dataset(resources: Resources, ask: Ask, dataset_id: str) -> None:
    """Forget a data set: its rows, its secret and so every copy; its history remains."""
    with work(resources, ask) as under_way:
        owned_and_locked(under_way.connection, ask, dataset_id)
        blobs = [part.blob for part in datasets.parts(under_way.connection, dataset_id)]
        datasets.remove(under_way.connection, dataset_id)
        under_way.record("dataset.remove", dataset_id)
    # After the commit: a blob left behind by a crash here is an orphan, which a start removes.
    for blob in blobs:
        resources.blobs.delete(blob)


def released_columns(dataset: Dataset, grant: Grant | None) -> tuple[Column, ...]:
    """The columns that can leave: no identifiers, and for a recipient those of its grant."""
    return tuple(
        column
        for column in dataset.columns
        if column.kind is not Kind.IDENTIFIER
        and (grant is None or grant.columns is None or column.name in grant.columns)
    )


def _as_granted(dataset: Dataset, grant: Grant | None) -> Dataset:
    if grant is None:
        return dataset
    return Dataset(
        id=dataset.id,
        name=dataset.name,
        owner=dataset.owner,
        rows=dataset.rows,
        retired=dataset.retired,
        columns=released_columns(dataset, grant),
        key_column=None,
        created_at=dataset.created_at,
        frozen=dataset.frozen,
    )
