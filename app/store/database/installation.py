"""Installation id of a database, and the wrapped key of its sealed values.

The one row is made by the first start. Its key is random; what is kept of it is wrapped by the
master key, so that another master key means wrapping one key anew and sealing nothing again.
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
