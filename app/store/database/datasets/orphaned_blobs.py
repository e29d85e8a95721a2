"""Orphaned blobs: uploads begun and removals left over, which no data set refers to.

A name stands here before the first byte of its blob is written, and leaves in the transaction that
makes the blob a part of a data set. So a row here proves that a blob was this database's and is
nobody's now; a file in the store that has no row here proves nothing, and is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, Row, delete, insert, select, update

from app.store.database import tables


class Reason(StrEnum):
    """Why no data set refers to a blob."""

    UPLOAD = "upload"
    REMOVAL = "removal"


@dataclass(frozen=True)
class OrphanedBlob:
    """A blob that is nobody's; `set_aside_at` says since when it waits in quarantine."""

    name: str
    reason: Reason
    since: datetime
    set_aside_at: datetime | None


def add(connection: Connection, names: Iterable[str], reason: Reason, now: datetime) -> None:
    """Keep that these blobs are ours and, from now on, no data set's."""
    rows = [{"blob": name, "reason": reason.value, "since": now} for name in names]
    if rows:
        connection.execute(insert(tables.orphaned_blobs), rows)


def forget(connection: Connection, name: str) -> None:
    """The blob became a part of a data set, or is gone."""
    connection.execute(delete(tables.orphaned_blobs).where(tables.orphaned_blobs.c.blob == name))


def abandon(connection: Connection, name: str) -> None:
    """An upload is not needed after all, and is to be removed."""
    connection.execute(
        update(tables.orphaned_blobs)
        .where(tables.orphaned_blobs.c.blob == name)
        .values(reason=Reason.REMOVAL.value)
    )


def set_aside(connection: Connection, name: str, now: datetime) -> None:
    """The blob waits in quarantine since now."""
    connection.execute(
        update(tables.orphaned_blobs)
        .where(tables.orphaned_blobs.c.blob == name)
        .values(set_aside_at=now)
    )


def all_of_them(connection: Connection) -> list[OrphanedBlob]:
    """Every orphaned blob, the oldest first."""
    query = select(tables.orphaned_blobs).order_by(
        tables.orphaned_blobs.c.since, tables.orphaned_blobs.c.blob
    )
    return [_orphaned_blob(row) for row in connection.execute(query)]


def locked(connection: Connection, name: str) -> OrphanedBlob | None:
    """The orphaned blob of that name, no other transaction's to decide on; None when it is no longer orphaned."""
    query = select(tables.orphaned_blobs).where(tables.orphaned_blobs.c.blob == name)
    row = connection.execute(query.with_for_update()).one_or_none()
    return None if row is None else _orphaned_blob(row)


def _orphaned_blob(row: Row[tuple[object, ...]]) -> OrphanedBlob:
    kept = row._mapping
    return OrphanedBlob(kept["blob"], Reason(kept["reason"]), kept["since"], kept["set_aside_at"])
