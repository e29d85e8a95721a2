"""Callers and their keys.

A key reads `cw_<public id>_<secret>`; the secret has 256 random bits and is kept as SHA-256 only (a
slow hash protects guessable secrets, and these are not). A key given by the administrator through
CORNERWAVE_ADMIN_KEY has the public id `environment` and is hashed whole.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Row, insert, select, update

from app.model import Caller, Role
from app.store import tables

ENVIRONMENT_KEY = "environment"


@dataclass(frozen=True)
class CallerRecord:
    """A caller as an administrator sees it, with the public ids of its live keys."""

    caller: Caller
    created_at: datetime
    revoked_at: datetime | None
    keys: tuple[str, ...]


def add(connection: Connection, caller: Caller, now: datetime) -> None:
    """Keep a new caller; it has no key yet."""
    connection.execute(
        insert(tables.callers).values(
            id=caller.id, name=caller.name, role=caller.role.value, created_at=now
        )
    )


def add_key(connection: Connection, caller_id: str, now: datetime) -> str:
    """Make a key for a caller; the text returned is the only place where its secret ever is."""
    key_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    connection.execute(
        insert(tables.keys).values(
            id=key_id, caller=caller_id, secret_hash=_hashed(secret), created_at=now
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
        select(tables.callers, tables.keys.c.secret_hash)
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
    return _caller(row) if row is not None and matches else None


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


def one(connection: Connection, caller_id: str) -> CallerRecord | None:
    """A caller by id, revoked or not."""
    found = page(connection, after="", limit=1, only=caller_id)
    return found[0] if found else None


def name_taken(connection: Connection, name: str) -> bool:
    """Whether any caller, revoked or not, has this name."""
    query = select(tables.callers.c.id).where(tables.callers.c.name == name)
    return connection.execute(query).first() is not None


def page(
    connection: Connection, *, after: str, limit: int, only: str | None = None
) -> list[CallerRecord]:
    """Callers by id, after the one named."""
    query = select(tables.callers).where(tables.callers.c.id > after)
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
        CallerRecord(_caller(row), row.created_at, row.revoked_at, tuple(live[row.id]))
        for row in rows
    ]


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
