"""Pending rows: batches that were appended after the first copy and have not yet formed a part."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from app.store.database import tables
from app.store.database.datasets import orphaned_blobs

BATCHES = tables.pending_batches


@dataclass(frozen=True, repr=False)
class PendingBatch:
    """The rows of one append.

    where:
        rows      how many it has, those retired among them
        counts    values of each numeric column, without those retired
        retired   places of rows that were retired while pending, ascending
        sketches  of its rows and keys, sealed
        decimal   the mark by which numbers were read, among keys too
    """

    id: str
    dataset: str
    sequence: int
    rows: int
    counts: tuple[int, ...]
    retired: tuple[int, ...]
    blob: str
    sketches: bytes
    decimal: str
    appended_at: datetime

    @property
    def kept_rows(self) -> int:
        """Rows that are to be part of the data set."""
        return self.rows - len(self.retired)


def add(connection: Connection, batch: PendingBatch) -> None:
    """Keep a batch after all others of its data set; its blob is no longer orphaned."""
    values = asdict(batch) | {"counts": list(batch.counts), "retired": list(batch.retired)}
    connection.execute(insert(BATCHES).values(**values))
    orphaned_blobs.forget(connection, batch.blob)


def of(connection: Connection, dataset_id: str) -> list[PendingBatch]:
    """The batches of a data set, in the order in which they came."""
    query = select(BATCHES).where(BATCHES.c.dataset == dataset_id).order_by(BATCHES.c.sequence)
    return [_batch(row) for row in connection.execute(query)]


def next_sequence(connection: Connection, dataset_id: str) -> int:
    """The number of a batch to come."""
    query = select(func.max(BATCHES.c.sequence)).where(BATCHES.c.dataset == dataset_id)
    return int(connection.execute(query).scalar() or 0) + 1


def retire(
    connection: Connection, batch_id: str, retired: tuple[int, ...], counts: tuple[int, ...]
) -> None:
    """Keep which rows of a batch are retired, and what remains."""
    connection.execute(
        update(BATCHES)
        .where(BATCHES.c.id == batch_id)
        .values(retired=list(retired), counts=list(counts))
    )


def remove(connection: Connection, batch: PendingBatch, now: datetime) -> None:
    """Delete a batch; its blob is orphaned from now on."""
    connection.execute(delete(BATCHES).where(BATCHES.c.id == batch.id))
    orphaned_blobs.add(connection, [batch.blob], orphaned_blobs.Reason.REMOVAL, now)


def _batch(row: Row[tuple[object, ...]]) -> PendingBatch:
    kept = dict(row._mapping)
    return PendingBatch(
        **kept | {"counts": tuple(kept["counts"]), "retired": tuple(kept["retired"])}
    )
