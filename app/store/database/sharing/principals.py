"""Principals and their keys.

A key reads `cw_<public id>_<secret>`; the secret has 256 random bits and is kept as SHA-256 only (a
slow hash protects secrets of few bits, and these have many). A key given by the administrator through
CORNERWAVE_ADMIN_KEY has the public id `environment` and is hashed whole.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, insert, or_, select, update

from app.model import ListQuery, ListResult, Principal, PrincipalRecord, Role
from app.store.database import tables
from app.store.database.engine import lock_row
from app.store.database.lists import Order, rows_of

ENVIRONMENT_KEY = "environment"


def add(
    connection: Connection, principal: Principal, now: datetime, created_by: str | None = None
) -> None:
    """Keep a new principal; it has no key yet."""
    connection.execute(
        insert(tables.principals).values(
            id=principal.id,
            name=principal.name,
            role=principal.role.value,
            created_at=now,
            created_by=created_by,
        )
    )


def add_key(
    connection: Connection,
    principal_id: str,
    now: datetime,
    *,
    agreement: str | None = None,
    transfer: str | None = None,
) -> str:
    """Make a key for a principal; the text returned is the only place where its secret ever is.

    A key that is bound to an agreement is good for what follows from that, and for nothing else; one
    that is bound to a transfer only while that runs.
    """
    key_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    connection.execute(
        insert(tables.keys).values(
            id=key_id,
            principal=principal_id,
            secret_hash=_hashed(secret),
            created_at=now,
            agreement=agreement,
            transfer=transfer,
        )
    )
    return f"cw_{key_id}_{secret}"


def set_environment_key(connection: Connection, principal_id: str, key: str, now: datetime) -> None:
    """Make `key` the one that CORNERWAVE_ADMIN_KEY opens with."""
    changed = connection.execute(
        update(tables.keys)
        .where(tables.keys.c.id == ENVIRONMENT_KEY)
        .values(secret_hash=_hashed(key), revoked_at=None)
    )
    if changed.rowcount == 0:
        connection.execute(
            insert(tables.keys).values(
                id=ENVIRONMENT_KEY, principal=principal_id, secret_hash=_hashed(key), created_at=now
            )
        )


def principal_of(connection: Connection, key: str) -> Principal | None:
    """Return the principal of a key that is valid now; the secret is compared in constant time."""
    key_id, secret = _parts(key)
    row = connection.execute(
        select(
            tables.principals,
            tables.keys.c.secret_hash,
            tables.keys.c.agreement,
            tables.keys.c.transfer,
        )
        .join(tables.keys, tables.keys.c.principal == tables.principals.c.id)
        .where(
            tables.keys.c.id == key_id,
            tables.keys.c.revoked_at.is_(None),
            tables.principals.c.revoked_at.is_(None),
        )
    ).one_or_none()
    # An unknown id costs the same comparison as a known one.
    expected = row.secret_hash if row is not None else bytes(32)
    matches = hmac.compare_digest(_hashed(secret), expected)
    if row is None or not matches:
        return None
    return replace(_principal(row), agreement=row.agreement, transfer=row.transfer)


def principal_with_key(
    connection: Connection, principal_id: str, key_id: str | None
) -> Principal | None:
    """Return a principal that is not revoked, and whose key of this id, if one is given, is not revoked.

    With a key it is the principal within that key's rights.
    """
    query = select(tables.principals).where(
        tables.principals.c.id == principal_id, tables.principals.c.revoked_at.is_(None)
    )
    if key_id is None:
        row = connection.execute(query).one_or_none()
        return None if row is None else _principal(row)
    query = query.join(tables.keys, tables.keys.c.principal == tables.principals.c.id).where(
        tables.keys.c.id == key_id, tables.keys.c.revoked_at.is_(None)
    )
    bound = query.add_columns(tables.keys.c.agreement, tables.keys.c.transfer)
    row = connection.execute(bound).one_or_none()
    if row is None:
        return None
    return replace(_principal(row), agreement=row.agreement, transfer=row.transfer)


def public_id(key: str) -> str:
    """The part of a key that may be written down."""
    return _parts(key)[0]


def with_role(connection: Connection, role: Role) -> list[Principal]:
    """Principals of a role that are not revoked, oldest first."""
    rows = connection.execute(
        select(tables.principals)
        .where(tables.principals.c.role == role.value, tables.principals.c.revoked_at.is_(None))
        .order_by(tables.principals.c.created_at, tables.principals.c.id)
    )
    return [_principal(row) for row in rows]


def one(
    connection: Connection, principal_id: str, *, visible_to: str | None = None
) -> PrincipalRecord | None:
    """A principal by id, revoked or not; as `page` where an owner is named."""
    found = page(connection, after="", limit=1, only=principal_id, visible_to=visible_to)
    return found[0] if found else None


def names(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """The names of those principals, revoked or not."""
    query = select(tables.principals.c.id, tables.principals.c.name)
    rows = connection.execute(query.where(tables.principals.c.id.in_(set(ids))))
    return {row.id: row.name for row in rows}


def id_of(connection: Connection, name: str) -> str | None:
    """Return the id of the principal of this name, in any case of letters."""
    query = select(tables.principals.c.id).where(
        func.lower(tables.principals.c.name) == name.lower()
    )
    found: str | None = connection.execute(query.limit(1)).scalar_one_or_none()
    return found


def lock(connection: Connection, principal_id: str) -> None:
    """Make this transaction the only one that changes the principal and its keys."""
    query = select(tables.principals.c.id).where(tables.principals.c.id == principal_id)
    lock_row(connection, principal_id, query.with_for_update(key_share=True))


def name_taken(connection: Connection, name: str) -> bool:
    """Return whether any principal, revoked or not, has this name."""
    query = select(tables.principals.c.id).where(tables.principals.c.name == name)
    return connection.execute(query).first() is not None


def page(
    connection: Connection,
    *,
    after: str,
    limit: int,
    only: str | None = None,
    visible_to: str | None = None,
) -> list[PrincipalRecord]:
    """Principals by id, after the one named; for an owner itself, whom it created and its partners."""
    query = select(tables.principals).where(tables.principals.c.id > after)
    if visible_to is not None:
        query = query.where(_visible_to(visible_to))
    if only is not None:
        query = query.where(tables.principals.c.id == only)
    rows = connection.execute(query.order_by(tables.principals.c.id).limit(limit)).all()
    return _records(connection, rows)


def search(
    connection: Connection, wanted: ListQuery, *, visible_to: str | None
) -> ListResult[PrincipalRecord]:
    """Search, sort and page principals; an owner sees those of `page`."""
    known = tables.principals.c
    query = select(tables.principals)
    if visible_to is not None:
        query = query.where(_visible_to(visible_to))
    rows, total = rows_of(connection, query, wanted, searched=[known.name, known.id], orders=ORDERS)
    return ListResult(_records(connection, rows), total)


ORDERS: dict[str, Order] = {
    "name": (func.lower(tables.principals.c.name), tables.principals.c.id),
    "newest": (tables.principals.c.created_at.desc(), tables.principals.c.id),
    "role": (tables.principals.c.role, func.lower(tables.principals.c.name)),
}


def _records(connection: Connection, rows: Sequence[Row[tuple[Any, ...]]]) -> list[PrincipalRecord]:
    live: dict[str, list[str]] = {row.id: [] for row in rows}
    for key in connection.execute(
        select(tables.keys.c.principal, tables.keys.c.id)
        .where(tables.keys.c.principal.in_(live), tables.keys.c.revoked_at.is_(None))
        .order_by(tables.keys.c.created_at, tables.keys.c.id)
    ):
        live[key.principal].append(key.id)
    return [
        PrincipalRecord(
            _principal(row),
            row.created_at,
            row.revoked_at,
            tuple(live[row.id]),
            row.participant_id,
            row.proposed_participant_id,
            row.email,
        )
        for row in rows
    ]


def set_email(connection: Connection, principal_id: str, email: str | None) -> None:
    """Set where a principal is notified."""
    principals = tables.principals
    connection.execute(
        update(principals).where(principals.c.id == principal_id).values(email=email)
    )


def _visible_to(owner: str) -> ColumnElement[bool]:
    """Principals that an owner created, or has a grant or an agreement with, or is."""
    own = select(tables.datasets.c.id).where(tables.datasets.c.owner == owner)
    granted = select(tables.grants.c.recipient).where(tables.grants.c.dataset.in_(own))
    agreed = select(tables.agreements.c.consumer).where(tables.agreements.c.provider == owner)
    principals = tables.principals.c
    return or_(
        principals.id == owner,
        principals.created_by == owner,
        principals.id.in_(granted),
        principals.id.in_(agreed),
    )


def revoke_keys(
    connection: Connection, principal_id: str, now: datetime, *, only: str | None = None
) -> int:
    """Revoke a principal's live keys, or the one named; how many that were."""
    query = update(tables.keys).where(
        tables.keys.c.principal == principal_id, tables.keys.c.revoked_at.is_(None)
    )
    if only is not None:
        query = query.where(tables.keys.c.id == only)
    return connection.execute(query.values(revoked_at=now)).rowcount


def revoke_share_keys(connection: Connection, agreement_id: str, now: datetime) -> int:
    """Revoke the live keys for the share of an agreement, which no transfer has; how many that were."""
    keys = tables.keys.c
    bound = and_(keys.agreement == agreement_id, keys.transfer.is_(None), keys.revoked_at.is_(None))
    return connection.execute(update(tables.keys).where(bound).values(revoked_at=now)).rowcount


def change_role(connection: Connection, principal_id: str, role: Role) -> None:
    """Give a principal another role."""
    connection.execute(
        update(tables.principals)
        .where(tables.principals.c.id == principal_id)
        .values(role=role.value)
    )


def set_participant(connection: Connection, principal_id: str, participant_id: str | None) -> None:
    """Set the confirmed participant id of a principal; none is proposed any more."""
    connection.execute(
        update(tables.principals)
        .where(tables.principals.c.id == principal_id)
        .values(participant_id=participant_id, proposed_participant_id=None)
    )


def propose_participant(
    connection: Connection, principal_id: str, participant_id: str | None, *, created_by: str
) -> bool:
    """Set the proposed participant id of a principal; False if another principal created it."""
    principal = tables.principals.c
    changed = connection.execute(
        update(tables.principals)
        .where(principal.id == principal_id, principal.created_by == created_by)
        .values(proposed_participant_id=participant_id)
    )
    return changed.rowcount == 1


def revoke(connection: Connection, principal_id: str, now: datetime) -> None:
    """Revoke a principal for good."""
    revoke_keys(connection, principal_id, now)
    connection.execute(
        update(tables.principals)
        .where(tables.principals.c.id == principal_id)
        .values(revoked_at=now)
    )


def _parts(key: str) -> tuple[str, str]:
    prefix, _, rest = key.partition("_")
    key_id, _, secret = rest.partition("_")
    if prefix == "cw" and key_id and secret:
        return key_id, secret
    return ENVIRONMENT_KEY, key


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _principal(row: Row[tuple[object, ...]]) -> Principal:
    return Principal(row.id, row.name, Role(row.role))
