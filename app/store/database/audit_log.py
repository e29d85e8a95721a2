"""The append-only audit log, whose entries chain by hash.

hash_i = SHA-256(canonical JSON of entry i with the previous hash), and the one row of `audit_head`
holds the newest sequence, hash and moment. That row is also the lock: an entry is appended in the
transaction of what it tells of, so the log and the state cannot disagree. It is taken last, right
before the commit, so that writes of unrelated data sets wait for each other no longer than an
insert takes. An entry's moment is when it was appended, and never before that of the entry before
it, whatever the clocks of several machines say. The database refuses to change or remove an entry (migrations/append_only.py); the chain shows it if somebody did it anyway.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from app.model import LogEntry, LogFilter
from app.store.database import tables
from app.store.database.engine import lock_row

Fact = str | int | float | bool | None
GENESIS = "0" * 64


def queue(connection: Connection) -> None:
    """Wait for this transaction's turn at the end of the chain, before it reads anything.

    Every write ends there. One that begins there too is alone from its first look to its commit:
    for what a start does once, and nothing that a request asks for.
    """
    _head(connection)


def _head(connection: Connection) -> Row[Any]:
    """The end of the chain, this transaction's until it is over."""
    query = select(tables.audit_head).with_for_update()
    return lock_row(connection, tables.audit_head.name, query).one()


def append(
    connection: Connection,
    *,
    principal: str,
    action: str,
    subject: str,
    outcome: str,
    request_id: str,
    facts: Mapping[str, Fact],
) -> None:
    """Add one entry at the end of the chain; others wait until this transaction ends."""
    newest = _head(connection)
    now = datetime.now(UTC)
    at = now if newest.at is None else max(now, newest.at)
    entry = {
        "sequence": newest.sequence + 1,
        "at": at,
        "principal": principal,
        "action": action,
        "subject": subject,
        "outcome": outcome,
        "request_id": request_id,
        "facts": dict(facts),
        "previous_hash": newest.hash,
    }
    digest = entry_hash(entry)
    connection.execute(insert(tables.audit_log).values(**entry, hash=digest))
    connection.execute(
        update(tables.audit_head).values(sequence=entry["sequence"], hash=digest, at=at)
    )


def page(connection: Connection, *, after: int, limit: int) -> list[LogEntry]:
    """Entries in order, after the sequence number given."""
    rows = connection.execute(
        select(tables.audit_log)
        .where(tables.audit_log.c.sequence > after)
        .order_by(tables.audit_log.c.sequence)
        .limit(limit)
    )
    return [_entry(row) for row in rows]


def search(
    connection: Connection, wanted: LogFilter, *, before: int | None, limit: int
) -> list[LogEntry]:
    """Entries that fit, the newest first, before the sequence number given."""
    entries = tables.audit_log.c
    query = select(tables.audit_log)
    for column, value in (
        (entries.principal, wanted.principal),
        (entries.action, wanted.action),
        (entries.subject, wanted.subject),
        (entries.outcome, wanted.outcome),
    ):
        if value is not None:
            query = query.where(column == value)
    if wanted.subjects is not None:
        query = query.where(entries.subject.in_(wanted.subjects))
    if wanted.since is not None:
        query = query.where(entries.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(entries.at < wanted.until)
    if before is not None:
        query = query.where(entries.sequence < before)
    rows = connection.execute(query.order_by(entries.sequence.desc()).limit(limit))
    return [_entry(row) for row in rows]


def actions(connection: Connection) -> list[str]:
    """Every action that the log tells of."""
    return sorted(connection.execute(select(tables.audit_log.c.action).distinct()).scalars())


def broken_links(connection: Connection) -> Iterator[str]:
    """What is wrong with the chain, one sentence each; nothing when it is whole."""
    previous, expected = GENESIS, 1
    after = 0
    while entries := page(connection, after=after, limit=1_000):
        for entry in entries:
            if entry.sequence != expected:
                yield f"entries {expected} to {entry.sequence - 1} are missing"
            if entry.previous_hash != previous and entry.sequence == expected:
                yield f"entry {entry.sequence} does not follow from the one before it"
            fields = {name: getattr(entry, name) for name in HASHED}
            if entry_hash(fields) != entry.hash:
                yield f"entry {entry.sequence} was altered"
            previous, expected = entry.hash, entry.sequence + 1
        after = entries[-1].sequence
    written, newest = head(connection)
    if (written, newest) != (expected - 1, previous):
        yield f"the log ends at entry {expected - 1}, but {written} entries were written"


def head(connection: Connection) -> tuple[int, str]:
    """The newest sequence number and hash."""
    row = connection.execute(select(tables.audit_head)).one()
    return row.sequence, row.hash


HASHED = (
    "sequence",
    "at",
    "principal",
    "action",
    "subject",
    "outcome",
    "request_id",
    "facts",
    "previous_hash",
)


def entry_hash(entry: Mapping[str, object]) -> str:
    """SHA-256 of the entry as JSON with sorted keys, the moment in UTC with microseconds."""
    at = entry["at"]
    assert isinstance(at, datetime)
    canonical = {**entry, "at": at.astimezone(UTC).isoformat(timespec="microseconds")}
    return hashlib.sha256(
        json.dumps(canonical, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def _entry(row: Row[tuple[object, ...]]) -> LogEntry:
    return LogEntry(
        **{name: row._mapping[name] for name in HASHED},
        hash=row._mapping["hash"],
    )
