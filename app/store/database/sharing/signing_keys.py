"""The keys that the service signs agreements with: the newest signs, all of them are published."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from app.store.database import tables


@dataclass(frozen=True, repr=False)
class SigningKey:
    """A key pair of Ed25519; the private half is sealed."""

    id: str
    public: bytes
    sealed: bytes
    created_at: datetime
    retired_at: datetime | None


def add(connection: Connection, key: SigningKey) -> None:
    """Keep a key."""
    connection.execute(
        insert(tables.signing_keys).values(
            id=key.id,
            public=key.public,
            sealed=key.sealed,
            created_at=key.created_at,
            retired_at=key.retired_at,
        )
    )


def retire_others(connection: Connection, key_id: str, now: datetime) -> None:
    """From now on no key but this one signs."""
    keys = tables.signing_keys.c
    connection.execute(
        update(tables.signing_keys)
        .where(keys.id != key_id, keys.retired_at.is_(None))
        .values(retired_at=now)
    )


def all_of_them(connection: Connection) -> list[SigningKey]:
    """Every key that ever signed, the oldest first."""
    keys = tables.signing_keys.c
    rows = connection.execute(select(tables.signing_keys).order_by(keys.created_at, keys.id))
    return [
        SigningKey(row.id, row.public, row.sealed, row.created_at, row.retired_at) for row in rows
    ]
