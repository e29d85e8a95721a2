"""Secrets of the service as a whole, sealed: made once, and the same under every later master key."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from app.store.database import tables


def one(connection: Connection, name: str) -> bytes | None:
    """The secret of that name, sealed, if it was made."""
    query = select(tables.service_secrets.c.sealed).where(tables.service_secrets.c.name == name)
    kept: bytes | None = connection.execute(query).scalar_one_or_none()
    return kept


def lock(connection: Connection, name: str) -> None:
    """Wait until no other transaction has the secret locked, and lock it to the end of this one."""
    query = select(tables.service_secrets.c.name).where(tables.service_secrets.c.name == name)
    connection.execute(query.with_for_update()).one()


def add(connection: Connection, name: str, sealed: bytes) -> None:
    """Keep a secret; a second one of its name violates a constraint."""
    connection.execute(insert(tables.service_secrets).values(name=name, sealed=sealed))
