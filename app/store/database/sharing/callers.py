"""Callers and their keys.

A key reads `cw_<public id>_<secret>`; the secret has 256 random bits and is kept as SHA-256 only (a
slow hash protects guessable secrets, and these are not). A key given by the administrator through
CORNERWAVE_ADMIN_KEY has the public id `environment` and is hashed whole.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Row, and_, insert, or_, select, update

from app.model import Caller, Role
from app.store.database import tables
from app.store.database.engine import lock_row

ENVIRONMENT_KEY = "environment"


@dataclass(frozen=True)
class CallerRecord:
    """A caller as an administrator sees it, with the public ids of its live keys."""

    caller: Caller
    created_at: datetime
    revoked_at: datetime | None
    keys: tuple[str, ...]
    participant_id: str | None = None


def add(
    connection: Connection, caller: Caller, now: datetime, created_by: str | None = None
) -> None:
    """Keep a new caller; it has no key yet."""
    connection.execute(
        insert(tables.callers).values(
            id=caller.id,
            name=caller.name,
            role=caller.role.value,
            created_at=now,
            created_by=created_by,
        )
    )


def add_key(
    connection: Connection,
    caller_id: str,
    now: datetime,
    *,
    agreement: str | None = None,
    transfer: str | None = None,
) -> str:
    """Make a key for a caller; the text returned is the only place where its secret ever is.

    A key that is bound to an agreement is good for what follows from that, and for nothing else; one
    that is bound to a transfer only while that runs.
    """
    key_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    connection.execute(
        insert(tables.keys).values(
            id=key_id,
            caller=caller_id,
            secret_hash=_hashed(secret),
            created_at=now,
            agreement=agreement,
            transfer=transfer,
        )
    )
    return f"cw_{key_id}_{secret}"


def set_environment_key(connection: Connection, caller_id: str, key: str, now: datetime) -> None:
    """Make `key` the one that CORNERWAVE_ADMIN_KEY opens with."""
    changed = connection.execute(
        update(tables.keys)
        .where(tables.keys.c.id == ENVIRONMENT_KEY)
        .values(secret_hash=_hashed(key), revoked_at=None)
    )
    if changed.rowcount == 0:
        connection.execute(
            insert(tables.keys).values(
                id=ENVIRONMENT_KEY, caller=caller_id, secret_hash=_hashed(key), created_at=now
            )
        )


def caller_of(connection: Connection, key: str) -> Caller | None:
    """Who holds this key, if it is valid now; the secret is compared in constant time."""
    key_id, secret = _parts(key)
    row = connection.execute(
        select(
            tables.callers,
            tables.keys.c.secret_hash,
            tables.keys.c.agreement,
            tables.keys.c.transfer,
        )
        .join(tables.keys, tables.keys.c.caller == tables.callers.c.id)
        .where(
            tables.keys.c.id == key_id,
            tables.keys.c.revoked_at.is_(None),
            tables.callers.c.revoked_at.is_(None),
        )
    ).one_or_none()
    # An unknown id costs the same comparison as a known one.
    expected = row.secret_hash if row is not None else bytes(32)
    matches = hmac.compare_digest(_hashed(secret), expected)
    if row is None or not matches:
        return None
    return replace(_caller(row), agreement=row.agreement, transfer=row.transfer)


def holder_of(connection: Connection, caller_id: str, key_id: str | None) -> Caller | None:
    """The caller, while it is not revoked and neither is the key of this public id, where one is said.

    With a key it is the caller within that key's rights.
    """
    query = select(tables.callers).where(
        tables.callers.c.id == caller_id, tables.callers.c.revoked_at.is_(None)
    )
    if key_id is None:
        row = connection.execute(query).one_or_none()
        return None if row is None else _caller(row)
    query = query.join(tables.keys, tables.keys.c.caller == tables.callers.c.id).where(
        tables.keys.c.id == key_id, tables.keys.c.revoked_at.is_(None)
    )
    bound = query.add_columns(tables.keys.c.agreement, tables.keys.c.transfer)
    row = connection.execute(bound).one_or_none()
    if row is None:
        return None
    return replace(_caller(row), agreement=row.agreement, transfer=row.transfer)


def public_id(key: str) -> str:
    """The part of a key that may be written down."""
    return _parts(key)[0]


def with_role(connection: Connection, role: Role) -> list[Caller]:
    """Callers of a role that are not revoked, oldest first."""
    rows = connection.execute(
        select(tables.callers)
        .where(tables.callers.c.role == role.value, tables.callers.c.revoked_at.is_(None))
        .order_by(tables.callers.c.created_at, tables.callers.c.id)
    )
    return [_caller(row) for row in rows]


def one(
    connection: Connection, caller_id: str, *, visible_to: str | None = None
) -> CallerRecord | None:
    """A caller by id, revoked or not; as `page` where an owner is named."""
    found = page(connection, after="", limit=1, only=caller_id, visible_to=visible_to)
    return found[0] if found else None


def names(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """The names of those callers, revoked or not."""
    query = select(tables.callers.c.id, tables.callers.c.name)
    rows = connection.execute(query.where(tables.callers.c.id.in_(set(ids))))
    return {row.id: row.name for row in rows}


def lock(connection: Connection, caller_id: str) -> None:
    """Make this transaction the only one that changes the caller and its keys."""
    query = select(tables.callers.c.id).where(tables.callers.c.id == caller_id)
    lock_row(connection, caller_id, query.with_for_update(key_share=True))


def name_taken(connection: Connection, name: str) -> bool:
    """Whether any caller, revoked or not, has this name."""
    query = select(tables.callers.c.id).where(tables.callers.c.name == name)
    return connection.execute(query).first() is not None


def page(
    connection: Connection,
    *,
    after: str,
    limit: int,
    only: str | None = None,
    visible_to: str | None = None,
) -> list[CallerRecord]:
    """Callers by id, after the one named; for an owner itself, whom it created and its partners."""
    query = select(tables.callers).where(tables.callers.c.id > after)
    if visible_to is not None:
        query = query.where(_visible_to(visible_to))
    if only is not None:
        query = query.where(tables.callers.c.id == only)
    rows = connection.execute(query.order_by(tables.callers.c.id).limit(limit)).all()
    live: dict[str, list[str]] = {row.id: [] for row in rows}
    for key in connection.execute(
        select(tables.keys.c.caller, tables.keys.c.id)
        .where(tables.keys.c.caller.in_(live), tables.keys.c.revoked_at.is_(None))
        .order_by(tables.keys.c.created_at, tables.keys.c.id)
    ):
        live[key.caller].append(key.id)
    return [
        CallerRecord(
            _caller(row), row.created_at, row.revoked_at, tuple(live[row.id]), row.participant_id
        )
        for row in rows
    ]


def _visible_to(owner: str) -> ColumnElement[bool]:
    """Callers that an owner created, or has a grant or an agreement with, or is."""
    own = select(tables.datasets.c.id).where(tables.datasets.c.owner == owner)
    granted = select(tables.grants.c.recipient).where(tables.grants.c.dataset.in_(own))
    agreed = select(tables.agreements.c.consumer).where(tables.agreements.c.provider == owner)
    callers = tables.callers.c
    return or_(
        callers.id == owner,
        callers.created_by == owner,
        callers.id.in_(granted),
        callers.id.in_(agreed),
    )


def revoke_keys(
    connection: Connection, caller_id: str, now: datetime, *, only: str | None = None
) -> int:
    """Revoke a caller's live keys, or the one named; how many that were."""
    query = update(tables.keys).where(
        tables.keys.c.caller == caller_id, tables.keys.c.revoked_at.is_(None)
    )
    if only is not None:
        query = query.where(tables.keys.c.id == only)
    return connection.execute(query.values(revoked_at=now)).rowcount


def revoke_share_keys(connection: Connection, agreement_id: str, now: datetime) -> int:
    """Revoke the live keys for the share of an agreement, which no transfer has; how many that were."""
    keys = tables.keys.c
    bound = and_(keys.agreement == agreement_id, keys.transfer.is_(None), keys.revoked_at.is_(None))
    return connection.execute(update(tables.keys).where(bound).values(revoked_at=now)).rowcount


def change_role(connection: Connection, caller_id: str, role: Role) -> None:
    """Give a caller another role."""
    connection.execute(
        update(tables.callers).where(tables.callers.c.id == caller_id).values(role=role.value)
    )


def set_participant(connection: Connection, caller_id: str, participant_id: str | None) -> None:
    """Say who a caller is in a data space, or that it is in none."""
    connection.execute(
        update(tables.callers)
        .where(tables.callers.c.id == caller_id)
        .values(participant_id=participant_id)
    )


def revoke(connection: Connection, caller_id: str, now: datetime) -> None:
    """Revoke a caller for good."""
    revoke_keys(connection, caller_id, now)
    connection.execute(
        update(tables.callers).where(tables.callers.c.id == caller_id).values(revoked_at=now)
    )


def _parts(key: str) -> tuple[str, str]:
    prefix, _, rest = key.partition("_")
    key_id, _, secret = rest.partition("_")
    if prefix == "cw" and key_id and secret:
        return key_id, secret
    return ENVIRONMENT_KEY, key


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _caller(row: Row[tuple[object, ...]]) -> Caller:
    return Caller(row.id, row.name, Role(row.role))
