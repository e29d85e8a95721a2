"""Data sets: columns, parts, retired rows, sealed secret and statistics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import (
    CompoundSelect,
    Connection,
    Label,
    Row,
    Select,
    delete,
    func,
    insert,
    not_,
    or_,
    select,
    union,
    update,
)

from app.model import (
    Column,
    Dataset,
    Kind,
    ListQuery,
    ListResult,
    Part,
    Protection,
    Storage,
)
from app.store.database import tables
from app.store.database.datasets import orphaned_blobs
from app.store.database.engine import lock_row
from app.store.database.lists import Order, rows_of
from app.store.database.sharing import agreements

ROWS_AT_ONCE = 10_000

_BLOBS = union(select(tables.parts.c.blob), select(tables.pending_batches.c.blob)).subquery()


def add(
    connection: Connection, dataset: Dataset, *, sealed_secret: bytes, sealed_statistics: bytes
) -> None:
    """Keep a new data set and its columns; parts are added by `add_part`."""
    connection.execute(
        insert(tables.datasets).values(
            id=dataset.id,
            name=dataset.name,
            owner=dataset.owner,
            rows=dataset.rows,
            retired=dataset.retired,
            key_column=dataset.key_column,
            created_at=dataset.created_at,
            secret=sealed_secret,
            statistics=sealed_statistics,
            missing_tokens=list(dataset.missing_tokens),
            protection=dataset.protection.value,
            least_variance=dataset.least_variance,
            person_rows=dataset.person_rows,
        )
    )
    set_columns(connection, dataset.id, dataset.columns)


def names(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """The names of those data sets, as far as they are there."""
    query = select(tables.datasets.c.id, tables.datasets.c.name)
    rows = connection.execute(query.where(tables.datasets.c.id.in_(set(ids))))
    return {row.id: row.name for row in rows}


def ids_of(connection: Connection, text: str) -> list[str]:
    """Return the ids of data sets with this name, in any case of letters, or with this id."""
    known = tables.datasets.c
    query = select(known.id).where(or_(known.id == text, func.lower(known.name) == text.lower()))
    return list(connection.execute(query).scalars())


def lock(connection: Connection, dataset_id: str) -> bool:
    """Make this transaction the data set's only writer; False when there is no such data set."""
    query = select(tables.datasets.c.id).where(tables.datasets.c.id == dataset_id)
    return lock_row(connection, dataset_id, query.with_for_update()).first() is not None


def one(connection: Connection, dataset_id: str) -> Dataset | None:
    """A data set by id."""
    found = page(connection, after="", limit=1, only=dataset_id)
    return found[0] if found else None


def named(connection: Connection, owner: str, name: str) -> Dataset | None:
    """An owner's data set by its name."""
    query = select(tables.datasets.c.id).where(
        tables.datasets.c.owner == owner, tables.datasets.c.name == name
    )
    found = connection.execute(query).first()
    return None if found is None else one(connection, found.id)


def name_taken(connection: Connection, owner: str, name: str) -> bool:
    """Return whether this owner has a data set of this name."""
    return named(connection, owner, name) is not None


def page(
    connection: Connection,
    *,
    after: str,
    limit: int,
    only: str | None = None,
    owner: str | None = None,
    granted_to: str | None = None,
    now: datetime | None = None,
    listed: bool = False,
) -> list[Dataset]:
    """Data sets by id, after the one named: all, of one owner, with a grant that lives `now`, or listed."""
    query = select(tables.datasets, _pending_rows()).where(tables.datasets.c.id > after)
    if only is not None:
        query = query.where(tables.datasets.c.id == only)
    if owner is not None:
        query = query.where(tables.datasets.c.owner == owner)
    if listed:
        query = query.where(tables.datasets.c.listed)
    if granted_to is not None:
        if now is None:
            raise ValueError("a grant lives at a moment")
        query = query.where(tables.datasets.c.id.in_(_granted_to(granted_to, now)))
    rows = connection.execute(query.order_by(tables.datasets.c.id).limit(limit)).all()
    return _read(connection, rows)


def search(
    connection: Connection,
    wanted: ListQuery,
    *,
    owner: str | None = None,
    granted_to: str | None = None,
    listed_for: str | None = None,
    now: datetime,
) -> ListResult[Dataset]:
    """Search, sort and page data sets: all, of one owner, granted to somebody, or listed and not yet theirs."""
    known = tables.datasets.c
    query = select(tables.datasets, _pending_rows())
    if owner is not None:
        query = query.where(known.owner == owner)
    if granted_to is not None:
        query = query.where(known.id.in_(_granted_to(granted_to, now)))
    if listed_for is not None:
        theirs = or_(known.owner == listed_for, known.id.in_(_granted_to(listed_for, now)))
        query = query.where(known.listed, not_(theirs))
    rows, total = rows_of(
        connection, query, wanted, searched=[known.name, known.description], orders=ORDERS
    )
    return ListResult(_read(connection, rows), total)


ORDERS: dict[str, Order] = {
    "name": (func.lower(tables.datasets.c.name), tables.datasets.c.id),
    "newest": (tables.datasets.c.created_at.desc(), tables.datasets.c.id),
    "rows": ((tables.datasets.c.rows - tables.datasets.c.retired).desc(), tables.datasets.c.id),
}


def _granted_to(recipient: str, now: datetime) -> CompoundSelect[tuple[str]]:
    granted = select(tables.grants.c.dataset).where(
        tables.grants.c.recipient == recipient,
        or_(tables.grants.c.expires_at.is_(None), tables.grants.c.expires_at > now),
    )
    return granted.union(agreements.datasets_of(recipient, now))


def _read(connection: Connection, rows: Sequence[Row[tuple[Any, ...]]]) -> list[Dataset]:
    columns = _columns(connection, [row.id for row in rows])
    return [
        Dataset(
            id=row.id,
            name=row.name,
            owner=row.owner,
            rows=row.rows,
            retired=row.retired,
            columns=tuple(columns[row.id]),
            key_column=row.key_column,
            created_at=row.created_at,
            frozen=row.frozen_at is not None,
            pending_rows=int(row.pending_rows),  # a sum of integers is a decimal to PostgreSQL
            part_rows=row.part_rows,
            publish_noise=row.publish_noise,
            description=row.description,
            listed=row.listed,
            missing_tokens=tuple(row.missing_tokens or ()),
            protection=Protection(row.protection),
            least_variance=row.least_variance,
            person_rows=row.person_rows,
        )
        for row in rows
    ]


def rename(connection: Connection, dataset_id: str, name: str) -> None:
    """Give a data set another name."""
    known = tables.datasets
    connection.execute(update(known).where(known.c.id == dataset_id).values(name=name))


def describe(
    connection: Connection,
    dataset_id: str,
    description: str,
    *,
    listed: bool,
    part_rows: int,
    publish_noise: bool,
) -> None:
    """Set the description and the options of a data set."""
    connection.execute(
        update(tables.datasets)
        .where(tables.datasets.c.id == dataset_id)
        .values(
            description=description,
            listed=listed,
            part_rows=part_rows,
            publish_noise=publish_noise,
        )
    )


def set_missing_tokens(connection: Connection, dataset_id: str, tokens: Sequence[str]) -> None:
    """Set the missing-value tokens of rows to come."""
    connection.execute(
        update(tables.datasets)
        .where(tables.datasets.c.id == dataset_id)
        .values(missing_tokens=list(tokens))
    )


def set_columns(connection: Connection, dataset_id: str, columns: Sequence[Column]) -> None:
    """Replace what is said of a data set's columns."""
    connection.execute(delete(tables.columns).where(tables.columns.c.dataset == dataset_id))
    connection.execute(
        insert(tables.columns),
        [
            {
                **asdict(column),
                "dataset": dataset_id,
                "position": position,
                "kind": column.kind.value,
                "storage": column.storage.value,
            }
            for position, column in enumerate(columns)
        ],
    )


def add_part(connection: Connection, dataset_id: str, part: Part) -> None:
    """Keep a part and count its rows; its blob is no longer orphaned."""
    connection.execute(insert(tables.parts).values(dataset=dataset_id, **asdict(part)))
    orphaned_blobs.forget(connection, part.blob)
    connection.execute(
        update(tables.datasets).where(tables.datasets.c.id == dataset_id).values(rows=part.end_row)
    )


def move_part(connection: Connection, dataset_id: str, part: Part) -> None:
    """The rows of a part lie in another blob from now on; that one is no longer orphaned."""
    connection.execute(
        update(tables.parts)
        .where(tables.parts.c.dataset == dataset_id, tables.parts.c.number == part.number)
        .values(blob=part.blob, digest=part.digest)
    )
    orphaned_blobs.forget(connection, part.blob)


def parts(connection: Connection, dataset_id: str) -> list[Part]:
    """The parts of a data set in row order."""
    rows = connection.execute(
        select(tables.parts)
        .where(tables.parts.c.dataset == dataset_id)
        .order_by(tables.parts.c.number)
    )
    return [
        Part(row.number, row.first_row, row.rows, row.blob, row.digest, row.protection)
        for row in rows
    ]


def first_protection(connection: Connection, dataset_id: str) -> str | None:
    """The hash of the first part's protection, None before the first copy."""
    query = select(tables.parts.c.protection).where(
        tables.parts.c.dataset == dataset_id, tables.parts.c.number == 0
    )
    hash_: str | None = connection.execute(query).scalar_one_or_none()
    return hash_


def protect_all(connection: Connection, dataset_id: str, protection: str) -> None:
    """All parts that are there share this protection from now on."""
    connection.execute(
        update(tables.parts)
        .where(tables.parts.c.dataset == dataset_id)
        .values(protection=protection)
    )


def blobs_of(connection: Connection, dataset_id: str) -> list[str]:
    """Every blob that a data set needs, those of pending rows among them."""
    kept = tables.parts, tables.pending_batches
    found = union(*(select(table.c.blob).where(table.c.dataset == dataset_id) for table in kept))
    return list(connection.execute(found).scalars())


def all_blobs(connection: Connection) -> set[str]:
    """Every blob that some data set needs."""
    return set(connection.execute(select(_BLOBS.c.blob)).scalars())


def some_blobs(connection: Connection, near: str, limit: int) -> list[str]:
    """A few blobs that data sets need: the next after `near` by name, then from the first on."""
    query = select(_BLOBS.c.blob).order_by(_BLOBS.c.blob).limit(limit)
    after = list(connection.execute(query.where(_BLOBS.c.blob >= near)).scalars())
    first = list(connection.execute(query.where(_BLOBS.c.blob < near)).scalars())
    return [*after, *first][:limit]


def refers_to(connection: Connection, blob: str) -> bool:
    """Return whether some data set needs this blob."""
    query = select(_BLOBS.c.blob).where(_BLOBS.c.blob == blob)
    return connection.execute(query).first() is not None


def retire(connection: Connection, dataset_id: str, rows: Iterable[int]) -> int:
    """Withdraw rows by ordinal; how many were not withdrawn before."""
    wanted = sorted(set(rows))
    fresh: list[int] = []
    for start in range(0, len(wanted), ROWS_AT_ONCE):
        chunk = wanted[start : start + ROWS_AT_ONCE]
        known = set(
            connection.execute(
                select(tables.retired_rows.c.row).where(
                    tables.retired_rows.c.dataset == dataset_id,
                    tables.retired_rows.c.row.between(chunk[0], chunk[-1]),
                )
            ).scalars()
        )
        fresh += [row for row in chunk if row not in known]
    for start in range(0, len(fresh), ROWS_AT_ONCE):
        connection.execute(
            insert(tables.retired_rows),
            [{"dataset": dataset_id, "row": row} for row in fresh[start : start + ROWS_AT_ONCE]],
        )
    count = select(func.count()).where(tables.retired_rows.c.dataset == dataset_id)
    connection.execute(
        update(tables.datasets)
        .where(tables.datasets.c.id == dataset_id)
        .values(retired=connection.execute(count).scalar_one())
    )
    return len(fresh)


def retired(connection: Connection, dataset_id: str, first: int, last: int) -> list[int]:
    """Withdrawn ordinals in [first, last), in order."""
    query = _retired(dataset_id, first, last).order_by(tables.retired_rows.c.row)
    return list(connection.execute(query).scalars())


def retired_count(connection: Connection, dataset_id: str, first: int, last: int) -> int:
    """Return how many these are."""
    rows = _retired(dataset_id, first, last).subquery()
    return int(connection.execute(select(func.count()).select_from(rows)).scalar_one())


def _retired(dataset_id: str, first: int, last: int) -> Select[int]:
    rows = tables.retired_rows.c
    return select(rows.row).where(rows.dataset == dataset_id, rows.row >= first, rows.row < last)


def sealed_secret(connection: Connection, dataset_id: str) -> bytes:
    """The data set's secret, sealed."""
    query = select(tables.datasets.c.secret).where(tables.datasets.c.id == dataset_id)
    secret: bytes = connection.execute(query).scalar_one()
    return secret


def sealed_statistics(connection: Connection, dataset_id: str) -> bytes:
    """The data set's statistics, sealed."""
    query = select(tables.datasets.c.statistics).where(tables.datasets.c.id == dataset_id)
    statistics: bytes = connection.execute(query).scalar_one()
    return statistics


def set_statistics(connection: Connection, dataset_id: str, sealed: bytes) -> None:
    """Replace the statistics."""
    connection.execute(
        update(tables.datasets).where(tables.datasets.c.id == dataset_id).values(statistics=sealed)
    )


def freeze(connection: Connection, dataset_id: str, now: datetime) -> None:
    """From now on columns and statistics stay as they are (invariant 5)."""
    connection.execute(
        update(tables.datasets)
        .where(tables.datasets.c.id == dataset_id, tables.datasets.c.frozen_at.is_(None))
        .values(frozen_at=now)
    )


def remove(connection: Connection, dataset_id: str) -> None:
    """Delete a data set with all its rows in other tables; its blobs are not deleted here."""
    connection.execute(delete(tables.datasets).where(tables.datasets.c.id == dataset_id))


def _pending_rows() -> Label[int]:
    """Rows of a data set that have not yet formed a part."""
    batches = tables.pending_batches.c
    rows = func.sum(batches.rows - func.json_array_length(batches.retired))
    of_it = select(func.coalesce(rows, 0)).where(batches.dataset == tables.datasets.c.id)
    return of_it.scalar_subquery().label("pending_rows")


def _columns(connection: Connection, dataset_ids: Sequence[str]) -> dict[str, list[Column]]:
    found: dict[str, list[Column]] = {dataset_id: [] for dataset_id in dataset_ids}
    rows = connection.execute(
        select(tables.columns)
        .where(tables.columns.c.dataset.in_(dataset_ids))
        .order_by(tables.columns.c.dataset, tables.columns.c.position)
    )
    for row in rows:
        found[row.dataset].append(
            Column(
                name=row.name,
                kind=Kind(row.kind),
                storage=Storage(row.storage),
                reason=row.reason,
                missing=row.missing,
                integer=row.integer,
                round_to_integer=row.round_to_integer,
                lower=row.lower,
                upper=row.upper,
                unit=row.unit,
                date_format=row.date_format,
                categories=row.categories,
                other=row.other,
                missing_as=row.missing_as,
                weight=row.weight,
                scale_unit=row.scale_unit,
            )
        )
    return found
