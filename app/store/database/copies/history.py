"""History of a data set: noise variances in the order drawn, hash-chained; protections and slots behind them.

An entry says everything that its draw depends on, and its hash keys the draw: the draw is bound to
all entries before it (invariant 4). After a backup lost the tail, another request gets another hash
and so independent noise, while the same request gets the same hash and so the very copy that was
lost. That is why the moment and the principal, which are kept beside it and in the audit log, are not
part of the hash.

    hash = SHA-256("cornerwave history v3" ‖ 0 ‖ data set id ‖ 0 ‖ recipe ‖ 0 ‖ sequence (8 bytes)
                   ‖ v ‖ lower neighbour or 0 ‖ upper neighbour or ∞ ‖ previous hash (32 bytes)),
    numbers big-endian, variances as doubles; the previous hash of the first entry is the hash of
    the first part's protection.

Entries are of noise variances v. What is applied in a part follows from v and the part's protection.

The database refuses to change or remove an entry (migrations/append_only.py).

Protections of parts (noise shape, donors) are sealed, addressed by hash and never changed. A slot is the variance at which
a recipient of a traceable agreement draws a level.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Row, insert, select

from app.model import HistoryEntry
from app.store.database import tables
from app.store.database.chained_logs import chain_faults


class HistoryNotWhole(Exception):
    """An entry, or what was frozen with the first, was altered or is missing: nothing may leave."""


def append(
    connection: Connection,
    entries: Sequence[HistoryEntry],
    *,
    dataset: str,
    copy: str,
    noise_variance: float,
    recipe: str,
    first_hash: str,
    at: datetime,
    principal: str,
) -> HistoryEntry:
    """Add a variance after all `entries` of the data set, which the principal has locked.

    `first_hash` stands before the first entry. A variance that is there already, or a writer that
    was not alone after all, violates a constraint and nothing is kept.
    """
    drawn = [entry.noise_variance for entry in entries]
    entry = HistoryEntry(
        dataset=dataset,
        sequence=len(entries) + 1,
        copy=copy,
        noise_variance=noise_variance,
        lower=max((v for v in drawn if v < noise_variance), default=None),
        upper=min((v for v in drawn if v > noise_variance), default=None),
        recipe=recipe,
        previous_hash=entries[-1].hash if entries else first_hash,
        hash="",
        at=at,
        principal=principal,
    )
    values = {name: getattr(entry, name) for name in KEPT}
    values["hash"] = entry_hash(entry)
    connection.execute(insert(tables.history).values(**values))
    return HistoryEntry(**values)


def of(connection: Connection, dataset_id: str) -> list[HistoryEntry]:
    """All entries of a data set, in order."""
    rows = connection.execute(
        select(tables.history)
        .where(tables.history.c.dataset == dataset_id)
        .order_by(tables.history.c.sequence)
    )
    return [_entry(row) for row in rows]


def page(connection: Connection, dataset_id: str, *, after: int, limit: int) -> list[HistoryEntry]:
    """Entries in order, after the sequence number given."""
    rows = connection.execute(
        select(tables.history)
        .where(tables.history.c.dataset == dataset_id, tables.history.c.sequence > after)
        .order_by(tables.history.c.sequence)
        .limit(limit)
    )
    return [_entry(row) for row in rows]


def since(connection: Connection, dataset_id: str, sequence: int) -> list[HistoryEntry]:
    """The entry of that number and all after it."""
    rows = connection.execute(
        select(tables.history)
        .where(tables.history.c.dataset == dataset_id, tables.history.c.sequence >= sequence)
        .order_by(tables.history.c.sequence)
    )
    return [_entry(row) for row in rows]


def of_copy(connection: Connection, copy_id: str) -> HistoryEntry | None:
    """The entry that a copy stands for."""
    query = select(tables.history).where(tables.history.c.copy == copy_id)
    row = connection.execute(query).one_or_none()
    return _entry(row) if row is not None else None


def at_variance(
    connection: Connection, dataset_id: str, noise_variance: float
) -> HistoryEntry | None:
    """The entry that promises this very variance, if it was drawn."""
    query = select(tables.history).where(
        tables.history.c.dataset == dataset_id,
        tables.history.c.noise_variance == noise_variance,
    )
    row = connection.execute(query).one_or_none()
    return _entry(row) if row is not None else None


def follows(entries: Sequence[HistoryEntry], previous: str, count: int) -> bool:
    """Return whether every entry follows from the one before it and none was altered.

    Before them come `count` others, the last of which has the hash `previous`.
    """
    broken = chain_faults(entries, entry_hash, first_hash=previous, first=count + 1)
    return next(broken, None) is None


def entry_hash(entry: HistoryEntry) -> str:
    """The hash at the head of this module, in hexadecimal."""
    texts = ("cornerwave history v3", entry.dataset, entry.recipe)
    lower = 0.0 if entry.lower is None else entry.lower
    upper = math.inf if entry.upper is None else entry.upper
    content = b"".join(text.encode() + b"\0" for text in texts)
    content += struct.pack(">Qddd", entry.sequence, entry.noise_variance, lower, upper)
    return hashlib.sha256(content + bytes.fromhex(entry.previous_hash)).hexdigest()


KEPT = (
    "dataset",
    "sequence",
    "copy",
    "noise_variance",
    "lower",
    "upper",
    "recipe",
    "previous_hash",
    "hash",
    "at",
    "principal",
)


def _entry(row: Row[tuple[object, ...]]) -> HistoryEntry:
    return HistoryEntry(**{name: row._mapping[name] for name in KEPT})


PROTECTIONS = tables.protections


def add_protection(connection: Connection, dataset_id: str, hash_: str, sealed: bytes) -> None:
    """Keep a protection; one that is there already is the same."""
    if not protections_of(connection, dataset_id, [hash_]):
        connection.execute(
            insert(PROTECTIONS).values(dataset=dataset_id, hash=hash_, sealed=sealed)
        )


def protections_of(
    connection: Connection, dataset_id: str, hashes: Iterable[str]
) -> dict[str, bytes]:
    """Hash → the sealed protection, of those that are there."""
    query = select(PROTECTIONS.c.hash, PROTECTIONS.c.sealed).where(
        PROTECTIONS.c.dataset == dataset_id, PROTECTIONS.c.hash.in_(set(hashes))
    )
    return {row.hash: row.sealed for row in connection.execute(query)}


@dataclass(frozen=True)
class Slot:
    """One recipient's variance, a little above that of a level."""

    dataset: str
    recipient: str
    level_variance: float
    slot: int
    noise_variance: float


def add_slot(connection: Connection, slot: Slot) -> None:
    """Insert a slot; a recipient has one per level, unique to it."""
    connection.execute(insert(tables.slots).values(**asdict(slot)))


def slots_of(connection: Connection, dataset_id: str) -> list[Slot]:
    """All slots of a data set, the least perturbed first."""
    return _slots(connection, dataset_id)


def slot_of(
    connection: Connection, dataset_id: str, recipient: str, level_variance: float
) -> Slot | None:
    """The slot that a recipient has for a level, if it has one."""
    columns = tables.slots.c
    found = _slots(
        connection,
        dataset_id,
        columns.recipient == recipient,
        columns.level_variance == level_variance,
    )
    return found[0] if found else None


def slot_at(connection: Connection, dataset_id: str, noise_variance: float) -> Slot | None:
    """Return the slot of this exact variance, if it is in use."""
    found = _slots(connection, dataset_id, tables.slots.c.noise_variance == noise_variance)
    return found[0] if found else None


def _slots(connection: Connection, dataset_id: str, *conditions: ColumnElement[bool]) -> list[Slot]:
    rows = connection.execute(
        select(tables.slots)
        .where(tables.slots.c.dataset == dataset_id, *conditions)
        .order_by(tables.slots.c.noise_variance)
    )
    return [Slot(**row._mapping) for row in rows]
