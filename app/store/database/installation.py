"""Installation id of a database, the wrapped key of its sealed values, and the signing keys of agreements.

The one row of the installation is made by the first start. Its key is random; what is kept of it is wrapped by the
master key, so that another master key means wrapping one key anew and sealing nothing again. Of the signing keys the
newest signs, and all are published.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from app.store.database import tables

ONLY = 1


@dataclass(frozen=True, repr=False)
class Installation:
    """The installation's id, and its key as the master key wraps it."""

    id: str
    wrapped_key: bytes


def find(connection: Connection) -> Installation | None:
    """The installation, None before the first start."""
    row = connection.execute(select(tables.installation)).one_or_none()
    return None if row is None else Installation(row.identity, row.wrapped_key)


def add(connection: Connection, made: Installation) -> None:
    """Keep the installation; a second one violates a constraint."""
    connection.execute(
        insert(tables.installation).values(id=ONLY, identity=made.id, wrapped_key=made.wrapped_key)
    )


def rewrap(connection: Connection, wrapped_key: bytes) -> None:
    """Keep the installation's key as another master key wraps it."""
    connection.execute(update(tables.installation).values(wrapped_key=wrapped_key))


def touch(connection: Connection, now: datetime) -> None:
    """Write something that nobody reads; it is skipped where another process is about to."""
    row = select(tables.installation.c.id).with_for_update(skip_locked=True)
    if connection.execute(row).first() is not None:
        connection.execute(update(tables.installation).values(probed_at=now))


COLUMNS = tables.signing_keys.c


@dataclass(frozen=True, repr=False)
class SigningKey:
    """Ed25519 key pair; the private half is sealed."""

    id: str
    public: bytes
    sealed: bytes
    created_at: datetime
    retired_at: datetime | None


def add_signing_key(connection: Connection, key: SigningKey) -> None:
    """Insert a key."""
    connection.execute(insert(tables.signing_keys).values(**vars(key)))


def retire_other_keys(connection: Connection, key_id: str, now: datetime) -> None:
    """Retire every key but this one."""
    others = COLUMNS.id != key_id, COLUMNS.retired_at.is_(None)
    connection.execute(update(tables.signing_keys).where(*others).values(retired_at=now))


def signing_keys(connection: Connection) -> list[SigningKey]:
    """Return every key that ever signed, the oldest first."""
    query = select(tables.signing_keys).order_by(COLUMNS.created_at, COLUMNS.id)
    return [SigningKey(**row._mapping) for row in connection.execute(query)]
