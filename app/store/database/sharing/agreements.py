"""Agreements with their items, changed only by who saw their newest version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    delete,
    insert,
    or_,
    select,
    update,
)

from app.agreement import Agreement, Channel, Delivery, Item, State, Terms
from app.model import Grant
from app.store.database import tables
from app.store.database.engine import lock_row

BINDING = (State.AGREED, State.VERIFIED, State.FINALIZED)
"""States in which the provider has given its word."""


def add(connection: Connection, agreement: Agreement) -> None:
    """Keep a new agreement."""
    connection.execute(
        insert(tables.agreements).values(
            id=agreement.id,
            provider=agreement.provider,
            consumer=agreement.consumer,
            created_at=agreement.created_at,
            **_changing(agreement),
        )
    )
    _set_items(connection, agreement)


def change(connection: Connection, agreement: Agreement, seen: int) -> bool:
    """Keep an agreement in place of the version that was seen; False when that is not the newest.

    Of two who change the same version at once, the database lets one through.
    """
    changed = connection.execute(
        update(tables.agreements)
        .where(tables.agreements.c.id == agreement.id, tables.agreements.c.version == seen)
        .values(**_changing(agreement))
    )
    if changed.rowcount == 0:
        return False
    _set_items(connection, agreement)
    return True


def one(connection: Connection, agreement_id: str) -> Agreement | None:
    """An agreement by id."""
    found = _found(connection, [tables.agreements.c.id == agreement_id], limit=1)
    return found[0] if found else None


def keep_record(connection: Connection, agreement_id: str, record: str) -> None:
    """Keep the signed document of a finalized agreement."""
    connection.execute(
        update(tables.agreements)
        .where(tables.agreements.c.id == agreement_id)
        .values(record=record)
    )


def record_of(connection: Connection, agreement_id: str) -> str | None:
    """The signed document, once there is one."""
    query = select(tables.agreements.c.record).where(tables.agreements.c.id == agreement_id)
    kept: str | None = connection.execute(query).scalar_one()
    return kept


def lock(connection: Connection, agreement_id: str) -> None:
    """Make this transaction the only one that changes the agreement."""
    query = select(tables.agreements.c.id).where(tables.agreements.c.id == agreement_id)
    lock_row(connection, agreement_id, query.with_for_update())


def page(
    connection: Connection,
    *,
    after: str,
    limit: int,
    party: str | None = None,
    state: State | None = None,
    dataset: str | None = None,
) -> list[Agreement]:
    """Agreements by id: all, or those of one party or about one data set; in any state, or in one."""
    agreements = tables.agreements.c
    wanted: list[ColumnElement[bool]] = [agreements.id > after]
    if party is not None:
        wanted.append(or_(agreements.provider == party, agreements.consumer == party))
    if state is not None:
        wanted.append(agreements.state == state.value)
    if dataset is not None:
        items = tables.agreement_items.c
        about = select(items.agreement).where(items.dataset == dataset)
        wanted.append(agreements.id.in_(about))
    return _found(connection, wanted, limit=limit)


def grants_of(
    connection: Connection,
    recipient: str,
    now: datetime,
    *,
    dataset: str | None = None,
    only: str | None = None,
) -> list[Grant]:
    """The rights that a recipient has at this moment by its agreements, or by one of them."""
    agreements, items = tables.agreements.c, tables.agreement_items.c
    query = (
        select(tables.agreement_items, agreements.ends_at, agreements.renews)
        .join(tables.agreements, agreements.id == items.agreement)
        .where(agreements.consumer == recipient, in_force(now))
        .order_by(items.agreement, items.position)
    )
    if dataset is not None:
        query = query.where(items.dataset == dataset)
    if only is not None:
        query = query.where(agreements.id == only)
    return [
        Grant(
            dataset=row.dataset,
            recipient=recipient,
            level=row.level,
            expires_at=None if row.renews else row.ends_at,
            columns=None if row.columns is None else tuple(row.columns),
            first_row=row.rows_since,
            agreement=row.agreement,
        )
        for row in connection.execute(query)
    ]


def datasets_of(recipient: str, now: datetime) -> Select[tuple[str]]:
    """A query for the data sets that a recipient has rights to at this moment by agreements."""
    agreements, items = tables.agreements.c, tables.agreement_items.c
    return (
        select(items.dataset)
        .join(tables.agreements, agreements.id == items.agreement)
        .where(agreements.consumer == recipient, in_force(now))
    )


def following(connection: Connection, dataset_id: str, refresh: str, now: datetime) -> list[str]:
    """The agreements in force that name a data set and are refreshed in this way."""
    agreements, items = tables.agreements.c, tables.agreement_items.c
    query = (
        select(agreements.id)
        .join(tables.agreement_items, agreements.id == items.agreement)
        .where(items.dataset == dataset_id, agreements.refresh == refresh, in_force(now))
    )
    return list(connection.execute(query.distinct().order_by(agreements.id)).scalars())


def to_plan(connection: Connection, now: datetime) -> list[str]:
    """The agreements in force of which something may be due: all but those delivered once for good."""
    agreements, planned = tables.agreements.c, tables.deliveries.c
    begun = select(planned.id).where(planned.agreement == agreements.id).exists()
    query = select(agreements.id).where(in_force(now), or_(agreements.refresh != "once", ~begun))
    return list(connection.execute(query.order_by(agreements.id)).scalars())


def in_force(now: datetime) -> ColumnElement[bool]:
    """Whether an agreement gives rights at this moment."""
    agreements = tables.agreements.c
    return and_(
        agreements.state == State.FINALIZED.value,
        agreements.starts_at <= now,
        or_(agreements.ends_at.is_(None), agreements.renews, agreements.ends_at > now),
    )


def binds(connection: Connection, dataset_id: str, now: datetime, level: str | None = None) -> bool:
    """Whether a provider's word, given and not ended, names the data set, or one level of it."""
    agreements, items = tables.agreements.c, tables.agreement_items.c
    query = (
        select(items.agreement)
        .join(tables.agreements, agreements.id == items.agreement)
        .where(
            items.dataset == dataset_id,
            agreements.state.in_([state.value for state in BINDING]),
            or_(agreements.ends_at.is_(None), agreements.renews, agreements.ends_at > now),
        )
    )
    if level is not None:
        query = query.where(items.level == level)
    return connection.execute(query.limit(1)).first() is not None


def _changing(agreement: Agreement) -> dict[str, Any]:
    terms = agreement.terms
    return {
        "state": agreement.state.value,
        "version": agreement.version,
        "purpose": terms.purpose,
        "legal_basis": terms.legal_basis,
        "terms": terms.text,
        "terms_sha256": terms.text_sha256,
        "starts_at": terms.starts_at,
        "ends_at": terms.ends_at,
        "renews": terms.renews,
        "refresh": terms.refresh,
        "deliveries": [[one.channel.value, one.target] for one in terms.deliveries],
        "traceable": terms.traceable,
        "rule": agreement.rule,
        "changed_at": agreement.changed_at,
        "finalized_at": agreement.finalized_at,
        "terminated_at": agreement.terminated_at,
        "log_sequence": agreement.log_sequence,
        "log_hash": agreement.log_hash,
    }


def _set_items(connection: Connection, agreement: Agreement) -> None:
    items = tables.agreement_items
    connection.execute(delete(items).where(items.c.agreement == agreement.id))
    connection.execute(
        insert(items),
        [
            {
                "agreement": agreement.id,
                "position": position,
                "dataset": item.dataset,
                "level": item.level,
                "noise_variance": item.noise_variance,
                "columns": None if item.columns is None else list(item.columns),
                "rows_since": item.rows_since,
            }
            for position, item in enumerate(agreement.terms.items)
        ],
    )


def _found(
    connection: Connection, wanted: Iterable[ColumnElement[bool]], *, limit: int
) -> list[Agreement]:
    rows = connection.execute(
        select(tables.agreements).where(*wanted).order_by(tables.agreements.c.id).limit(limit)
    ).all()
    items = _items(connection, [row.id for row in rows])
    return [_agreement(row, tuple(items[row.id])) for row in rows]


def _items(connection: Connection, agreement_ids: Sequence[str]) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = {one: [] for one in agreement_ids}
    items = tables.agreement_items
    for row in connection.execute(
        select(items)
        .where(items.c.agreement.in_(agreement_ids))
        .order_by(items.c.agreement, items.c.position)
    ):
        columns = None if row.columns is None else tuple(row.columns)
        found[row.agreement].append(
            Item(row.dataset, row.level, row.noise_variance, columns, row.rows_since)
        )
    return found


def _agreement(row: Row[tuple[Any, ...]], items: tuple[Item, ...]) -> Agreement:
    return Agreement(
        id=row.id,
        provider=row.provider,
        consumer=row.consumer,
        state=State(row.state),
        version=row.version,
        terms=Terms(
            items=items,
            purpose=row.purpose,
            legal_basis=row.legal_basis,
            text=row.terms,
            text_sha256=row.terms_sha256,
            starts_at=row.starts_at,
            ends_at=row.ends_at,
            renews=row.renews,
            refresh=row.refresh,
            deliveries=tuple(Delivery(Channel(kind), to) for kind, to in row.deliveries),
            traceable=row.traceable,
        ),
        rule=row.rule,
        created_at=row.created_at,
        changed_at=row.changed_at,
        finalized_at=row.finalized_at,
        terminated_at=row.terminated_at,
        log_sequence=row.log_sequence,
        log_hash=row.log_hash,
    )
