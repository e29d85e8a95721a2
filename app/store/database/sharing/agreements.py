"""Agreements with their items, the rules by which owners agree, and grants: which recipient has which level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    union,
    update,
)

from app.agreement import Agreement, Item, Rule, State, Terms
from app.model import Grant
from app.store.database import tables
from app.store.database.engine import lock_row

BINDING = (State.AGREED, State.VERIFIED, State.FINALIZED)
"""States that bind the provider."""


def add(connection: Connection, agreement: Agreement) -> None:
    """Insert an agreement."""
    connection.execute(insert(tables.agreements).values(**_values(agreement)))
    _set_items(connection, agreement)


def change(connection: Connection, agreement: Agreement) -> bool:
    """Store an agreement in place of the version before it; False when another is stored by now.

    The log keeps its head by itself (`chained_logs.py`).
    """
    values = _values(agreement)
    del values["log_sequence"], values["log_hash"]
    known = tables.agreements.c
    before = known.id == agreement.id, known.version == agreement.version - 1
    if not connection.execute(update(tables.agreements).where(*before).values(**values)).rowcount:
        return False
    _set_items(connection, agreement)
    return True


def one(connection: Connection, agreement_id: str) -> Agreement | None:
    """Return an agreement by id."""
    found = _select(connection, [tables.agreements.c.id == agreement_id], limit=1)
    return found[0] if found else None


def existing(connection: Connection, agreement_id: str) -> Agreement:
    """Return an agreement to which a row of the database refers."""
    agreement = one(connection, agreement_id)
    assert agreement is not None  # nothing removes an agreement
    return agreement


def keep_record(connection: Connection, agreement_id: str, record: str) -> None:
    """Store the signed document of a finalized agreement."""
    connection.execute(
        update(tables.agreements)
        .where(tables.agreements.c.id == agreement_id)
        .values(record=record)
    )


def record_of(connection: Connection, agreement_id: str) -> str | None:
    """Return the signed document, if there is one."""
    query = select(tables.agreements.c.record).where(tables.agreements.c.id == agreement_id)
    kept: str | None = connection.execute(query).scalar_one()
    return kept


def lock(connection: Connection, agreement_id: str) -> None:
    """Lock an agreement until the transaction ends."""
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
    """Return agreements by id: all, or those of one party, about one data set, or in one state."""
    agreements = tables.agreements.c
    wanted: list[ColumnElement[bool]] = [agreements.id > after]
    if party is not None:
        wanted.append(or_(agreements.provider == party, agreements.consumer == party))
    if state is not None:
        wanted.append(agreements.state == state)
    if dataset is not None:
        items = tables.agreement_items.c
        about = select(items.agreement).where(items.dataset == dataset)
        wanted.append(agreements.id.in_(about))
    return _select(connection, wanted, limit=limit)


def ids_about(connection: Connection, dataset_ids: Iterable[str]) -> list[str]:
    """Return the ids of agreements about any of these data sets."""
    items = tables.agreement_items.c
    query = select(items.agreement).where(items.dataset.in_(set(dataset_ids))).distinct()
    return list(connection.execute(query).scalars())


def names(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return what agreements are about: the name of their first data set that is still there, by id."""
    items = tables.agreement_items.c
    query = (
        select(items.agreement, tables.datasets.c.name)
        .join(tables.datasets, tables.datasets.c.id == items.dataset)
        .where(items.agreement.in_(set(ids)))
        .order_by(items.position.desc())
    )
    return {row.agreement: row.name for row in connection.execute(query)}


def waiting_for(connection: Connection, principal: str, *, limit: int) -> list[Agreement]:
    """Return agreements whose next message is this principal's, the longest waiting first."""
    return _select(
        connection, [_turn_of(principal)], limit=limit, by=tables.agreements.c.changed_at
    )


def count_waiting(connection: Connection, principal: str) -> int:
    """Count the agreements whose next message is this principal's."""
    query = select(func.count()).select_from(tables.agreements).where(_turn_of(principal))
    return int(connection.execute(query).scalar_one())


def changed_since(
    connection: Connection, principal: str, since: datetime, *, limit: int
) -> list[Agreement]:
    """Return a principal's agreements that changed after a moment, the newest first."""
    agreements = tables.agreements.c
    own = or_(agreements.provider == principal, agreements.consumer == principal)
    wanted = [own, agreements.changed_at > since]
    return _select(connection, wanted, limit=limit, by=agreements.changed_at.desc())


def requests_by(connection: Connection, consumer: str, ids: Iterable[str]) -> dict[str, Agreement]:
    """Return the newest agreement of a consumer about each of these data sets that did not end."""
    agreements, items = tables.agreements.c, tables.agreement_items.c
    about = select(items.agreement).where(items.dataset.in_(set(ids)))
    open_ones = [
        agreements.consumer == consumer,
        agreements.state != State.TERMINATED,
        agreements.id.in_(about),
    ]
    found = _select(connection, open_ones, limit=1_000, by=agreements.changed_at)
    return {item.dataset: one for one in found for item in one.terms.items}


def count_recipients(connection: Connection, ids: Iterable[str], now: datetime) -> dict[str, int]:
    """Count who may have a copy of each of these data sets at `now`, by a grant or an agreement."""
    agreements, items, grants = tables.agreements.c, tables.agreement_items.c, tables.grants.c
    wanted = set(ids)
    agreed = (
        select(items.dataset, agreements.consumer.label("recipient"))
        .join(tables.agreements, agreements.id == items.agreement)
        .where(items.dataset.in_(wanted), in_force(now))
    )
    granted = select(grants.dataset, grants.recipient).where(
        grants.dataset.in_(wanted), or_(grants.expires_at.is_(None), grants.expires_at > now)
    )
    either = union(agreed, granted).subquery()
    query = select(either.c.dataset, func.count()).group_by(either.c.dataset)
    return {dataset: int(count) for dataset, count in connection.execute(query)}


def _turn_of(principal: str) -> ColumnElement[bool]:
    agreements = tables.agreements.c
    return or_(
        and_(
            agreements.provider == principal,
            agreements.state.in_((State.REQUESTED, State.ACCEPTED, State.VERIFIED)),
        ),
        and_(agreements.consumer == principal, agreements.state.in_((State.OFFERED, State.AGREED))),
    )


def grants_of(
    connection: Connection,
    recipient: str,
    now: datetime,
    *,
    dataset: str | None = None,
    only: str | None = None,
) -> list[Grant]:
    """Return the rights of a recipient at `now` by its agreements, or by one of them."""
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
            columns=row.columns,
            first_row=row.rows_since,
            agreement=row.agreement,
        )
        for row in connection.execute(query)
    ]


def datasets_of(recipient: str, now: datetime) -> Select[tuple[str]]:
    """Return a query for the data sets to which a recipient has rights at `now` by agreements."""
    agreements, items = tables.agreements.c, tables.agreement_items.c
    return (
        select(items.dataset)
        .join(tables.agreements, agreements.id == items.agreement)
        .where(agreements.consumer == recipient, in_force(now))
    )


def with_refresh(connection: Connection, dataset_id: str, refresh: str, now: datetime) -> list[str]:
    """Return the ids of agreements in force that name a data set and have this refresh."""
    agreements, items = tables.agreements.c, tables.agreement_items.c
    query = (
        select(agreements.id)
        .join(tables.agreement_items, agreements.id == items.agreement)
        .where(items.dataset == dataset_id, agreements.refresh == refresh, in_force(now))
    )
    return list(connection.execute(query.distinct().order_by(agreements.id)).scalars())


def to_plan(connection: Connection, now: datetime) -> list[str]:
    """Return the ids of agreements in force of which a delivery may be due."""
    agreements, planned = tables.agreements.c, tables.deliveries.c
    begun = select(planned.id).where(planned.agreement == agreements.id).exists()
    query = select(agreements.id).where(in_force(now), or_(agreements.refresh != "once", ~begun))
    return list(connection.execute(query.order_by(agreements.id)).scalars())


def in_force(now: datetime) -> ColumnElement[bool]:
    """Return the condition that an agreement gives rights at `now`."""
    agreements = tables.agreements.c
    return and_(
        agreements.state == State.FINALIZED,
        agreements.starts_at <= now,
        or_(agreements.ends_at.is_(None), agreements.renews, agreements.ends_at > now),
    )


def binds(connection: Connection, dataset_id: str, now: datetime, level: str | None = None) -> bool:
    """Return whether a binding agreement names the data set, or one level of it."""
    agreements, items = tables.agreements.c, tables.agreement_items.c
    query = (
        select(items.agreement)
        .join(tables.agreements, agreements.id == items.agreement)
        .where(
            items.dataset == dataset_id,
            agreements.state.in_(BINDING),
            or_(agreements.ends_at.is_(None), agreements.renews, agreements.ends_at > now),
        )
    )
    if level is not None:
        query = query.where(items.level == level)
    return connection.execute(query.limit(1)).first() is not None


def _values(agreement: Agreement) -> dict[str, Any]:
    values = {**vars(agreement), **vars(agreement.terms)}
    del values["items"], values["terms"]
    return values


def _set_items(connection: Connection, agreement: Agreement) -> None:
    items = tables.agreement_items
    connection.execute(delete(items).where(items.c.agreement == agreement.id))
    rows = [
        {"agreement": agreement.id, "position": position, **vars(item)}
        for position, item in enumerate(agreement.terms.items)
    ]
    connection.execute(insert(items), rows)


def _select(
    connection: Connection,
    wanted: Iterable[ColumnElement[bool]],
    *,
    limit: int,
    by: ColumnElement[Any] | None = None,
) -> list[Agreement]:
    order = [tables.agreements.c.id] if by is None else [by, tables.agreements.c.id]
    rows = connection.execute(
        select(tables.agreements).where(*wanted).order_by(*order).limit(limit)
    ).all()
    items = _items(connection, [row.id for row in rows])
    return [_agreement(row, tuple(items[row.id])) for row in rows]


def _items(connection: Connection, agreement_ids: Sequence[str]) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = {one: [] for one in agreement_ids}
    items = tables.agreement_items
    query = select(items).where(items.c.agreement.in_(agreement_ids))
    for row in connection.execute(query.order_by(items.c.agreement, items.c.position)):
        found[row.agreement].append(item_of(row))
    return found


def item_of(row: Row[Any]) -> Item:
    """Return the item in a row with the columns of `agreement_items`."""
    return Item(**{field.name: row._mapping[field.name] for field in fields(Item)})


def _agreement(row: Row[tuple[Any, ...]], items: tuple[Item, ...]) -> Agreement:
    values = {name: value for name, value in row._mapping.items() if name != "record"}
    names = [field.name for field in fields(Terms) if field.name != "items"]
    terms = Terms(items=items, **{name: values.pop(name) for name in names})
    return Agreement(terms=terms, **values)


GRANTS = tables.grants.c


def grant_by_hand(connection: Connection, dataset_id: str, recipient: str) -> Grant | None:
    """Return the grant of a recipient on a data set, expired or not."""
    wanted = GRANTS.dataset == dataset_id, GRANTS.recipient == recipient
    return next(iter(_grants(connection, *wanted)), None)


def grants_by_hand(connection: Connection, dataset_id: str) -> list[Grant]:
    """Return all grants on a data set."""
    return _grants(connection, GRANTS.dataset == dataset_id)


def put_grant(connection: Connection, grant: Grant) -> None:
    """Give a recipient this grant in place of the one it had."""
    remove_grant(connection, grant.dataset, grant.recipient)
    values = {name: getattr(grant, name) for name in GRANTS.keys()}  # noqa: SIM118  # a collection of columns
    connection.execute(insert(tables.grants).values(**values))


def remove_grant(connection: Connection, dataset_id: str, recipient: str) -> bool:
    """Delete a grant; return whether there was one."""
    wanted = GRANTS.dataset == dataset_id, GRANTS.recipient == recipient
    return connection.execute(delete(tables.grants).where(*wanted)).rowcount > 0


def _grants(connection: Connection, *wanted: ColumnElement[bool]) -> list[Grant]:
    query = select(tables.grants).where(*wanted).order_by(GRANTS.recipient)
    return [Grant(**row._mapping) for row in connection.execute(query)]


RULES = tables.agreement_rules.c


def add_rule(connection: Connection, rule: Rule) -> None:
    """Insert a rule."""
    connection.execute(insert(tables.agreement_rules).values(**vars(rule)))


def rules_of(connection: Connection, owner: str) -> list[Rule]:
    """Return an owner's rules, oldest first."""
    return _rules(connection, RULES.owner == owner)


def rule(connection: Connection, rule_id: str) -> Rule | None:
    """Return a rule by id."""
    return next(iter(_rules(connection, RULES.id == rule_id)), None)


def remove_rule(connection: Connection, rule_id: str) -> None:
    """Delete a rule; what was agreed by it stays agreed."""
    connection.execute(delete(tables.agreement_rules).where(RULES.id == rule_id))


def _rules(connection: Connection, wanted: ColumnElement[bool]) -> list[Rule]:
    query = select(tables.agreement_rules).where(wanted)
    rows = connection.execute(query.order_by(RULES.created_at, RULES.id))
    return [Rule(**row._mapping) for row in rows]
