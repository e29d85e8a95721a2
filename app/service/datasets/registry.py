"""Data set registry: show, list and describe data sets."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from app.errors import Hidden, NameTaken, NotFound, Refusal
from app.model import Dataset, ListQuery, ListResult, Role
from app.service.context import (
    RequestContext,
    checked_name,
    live_grants,
    owned,
    owned_and_locked,
    released_columns,
    revision_of,
    visible,
)
from app.service.datasets.overlap.comparison import with_versions
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.datasets import datasets
from app.store.database.engine import moment, reading


def show_dataset(resources: Resources, context: RequestContext, dataset_id: str) -> Dataset:
    """One data set; a recipient sees the columns that can reach it."""
    return show_revision(resources, context, dataset_id)[0]


def show_revision(
    resources: Resources, context: RequestContext, dataset_id: str
) -> tuple[Dataset, str | None]:
    """One data set and its revision; a recipient gets none, since it would tell of pending rows."""
    with reading(resources.engine) as connection:
        dataset, grant = visible(connection, context, dataset_id)
        if grant is None:
            return with_versions(connection, [dataset])[0], revision_of(connection, dataset)
        return _as_granted(connection, context, dataset), None


def show_owned(resources: Resources, context: RequestContext, dataset_id: str) -> Dataset:
    """One data set for its owner or an administrator; for all others there is none, whatever their right."""
    with reading(resources.engine) as connection:
        try:
            dataset = owned(connection, context, dataset_id)
        except NotFound:
            raise
        except Refusal:
            raise Hidden(f"there is no data set {dataset_id!r} for this principal") from None
        return with_versions(connection, [dataset])[0]


def list_datasets(
    resources: Resources, context: RequestContext, *, after: str, limit: int
) -> list[Dataset]:
    """Data sets by id: all for administrators and auditors, else one's own or those granted."""
    role = context.principal.role
    with reading(resources.engine) as connection:
        if role is not Role.RECIPIENT:
            owner = context.principal.id if role is Role.OWNER else None
            found = datasets.page(connection, after=after, limit=limit, owner=owner)
            return with_versions(connection, found)
        granted = datasets.page(
            connection,
            after=after,
            limit=limit,
            granted_to=context.principal.id,
            now=moment(connection),
        )
        return [_as_granted(connection, context, one) for one in granted]


def search_datasets(
    resources: Resources, context: RequestContext, wanted: ListQuery
) -> ListResult[Dataset]:
    """Search, sort and page the data sets of `list_datasets`."""
    role, me = context.principal.role, context.principal.id
    with reading(resources.engine) as connection:
        now = moment(connection)
        if role is Role.RECIPIENT:
            granted = datasets.search(connection, wanted, granted_to=me, now=now)
            shown = [_as_granted(connection, context, one) for one in granted.items]
            return ListResult(shown, granted.total)
        owner = me if role is Role.OWNER else None
        found = datasets.search(connection, wanted, owner=owner, now=now)
        return ListResult(with_versions(connection, found.items), found.total)


def rename_dataset(
    resources: Resources, context: RequestContext, dataset_id: str, name: str
) -> None:
    """Give a data set another name; NameTaken where its owner has another of this name."""
    checked_name("name", name)
    with unit_of_work(resources, context) as uow:
        dataset = owned_and_locked(uow.connection, context, dataset_id)
        other = datasets.named(uow.connection, dataset.owner, name)
        if other is not None and other.id != dataset_id:
            raise NameTaken(f"There is a data set named {name!r} already.", parameter="name")
        datasets.rename(uow.connection, dataset_id, name)
        uow.record("dataset.rename", dataset_id, before=dataset.name, name=name)


def describe_dataset(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    *,
    description: str | None,
    listed: bool | None,
    part_rows: int | None = None,
    publish_noise: bool | None = None,
) -> Dataset:
    """Set the description and the options of a data set; None leaves one as it is."""
    with unit_of_work(resources, context) as uow:
        dataset = owned_and_locked(uow.connection, context, dataset_id)
        said = replace(
            dataset,
            description=dataset.description if description is None else description,
            listed=dataset.listed if listed is None else listed,
            part_rows=dataset.part_rows if part_rows is None else part_rows,
            publish_noise=dataset.publish_noise if publish_noise is None else publish_noise,
        )
        datasets.describe(
            uow.connection,
            dataset_id,
            said.description,
            listed=said.listed,
            part_rows=said.part_rows,
            publish_noise=said.publish_noise,
        )
        uow.record(
            "dataset.describe",
            dataset_id,
            listed=said.listed,
            part_rows=said.part_rows,
            publish_noise=said.publish_noise,
        )
        return with_versions(uow.connection, [said])[0]


def _as_granted(connection: Connection, context: RequestContext, dataset: Dataset) -> Dataset:
    """Return a data set as a recipient sees it: with the columns of its rights.

    Of rows that are in no copy, withdrawn or pending, it learns nothing: not by what is counted of a
    column, nor by why it got its kind, which counts values that no copy may ever show.
    """
    names = {
        column.name
        for grant in live_grants(connection, context, dataset.id)
        for column in released_columns(dataset, grant)
    }
    return Dataset(
        id=dataset.id,
        name=dataset.name,
        owner=dataset.owner,
        rows=dataset.released_rows,
        retired=0,
        columns=tuple(
            replace(column, reason="", missing=None, integer=None)
            for column in dataset.columns
            if column.name in names
        ),
        key_column=None,
        created_at=dataset.created_at,
        frozen=dataset.frozen,
        description=dataset.description,
        listed=dataset.listed,
        publish_noise=dataset.publish_noise,
        protection=dataset.protection,
        least_variance=dataset.least_variance,
        person_rows=dataset.person_rows,
    )
