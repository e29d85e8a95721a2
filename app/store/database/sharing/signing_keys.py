"""Signing keys of agreements: the newest signs, all are published."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from app.store.database import tables

COLUMNS = tables.signing_keys.c


@dataclass(frozen=True, repr=False)
class SigningKey:
    """Ed25519 key pair; the private half is sealed."""

    id: str
    public: bytes
    sealed: bytes
    created_at: datetime
    retired_at: datetime | None


def add(connection: Connection, key: SigningKey) -> None:
    """Insert a key."""
    connection.execute(insert(tables.signing_keys).values(**vars(key)))


def retire_others(connection: Connection, key_id: str, now: datetime) -> None:
    """Retire every key but this one."""
    others = COLUMNS.id != key_id, COLUMNS.retired_at.is_(None)
    connection.execute(update(tables.signing_keys).where(*others).values(retired_at=now))


def all_keys(connection: Connection) -> list[SigningKey]:
    """Return every key that ever signed, the oldest first."""
    query = select(tables.signing_keys).order_by(COLUMNS.created_at, COLUMNS.id)
    return [SigningKey(**row._mapping) for row in connection.execute(query)]
