"""Append-only audit log, a hash chain (`hash_chain.py`).

The one row of `audit_head` holds the newest sequence, hash and moment. It is also the lock: an entry is
appended in the transaction of the change that it records, so that log and state agree. The lock is taken
last, right before the commit, so that unrelated writes wait for each other no longer than an insert takes.

The moment of an entry is when it was appended, and never before that of the previous entry, whatever the
clocks of several machines show. The database refuses to change or remove an entry
(migrations/append_only.py); the chain reveals it if somebody did so anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from app.model import LogEntry, LogFilter
from app.store.database import hash_chain, tables
from app.store.database.engine import lock_row
from app.store.database.hash_chain import GENESIS, all_entries, chained

Fact = str | int | float | bool | None


def queue(connection: Connection) -> None:
    """Take the lock of the chain before the transaction reads anything.

    Every write ends with that lock. One that begins with it too runs alone until its commit: for what a
    start does once, never for a request.
    """
    _head(connection)


def _head(connection: Connection) -> Row[Any]:
    """Return the head of the chain, locked until the transaction ends."""
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
    newest, now = _head(connection), datetime.now(UTC)
    entry = chained(
        LogEntry(
            sequence=newest.sequence + 1,
            at=now if newest.at is None else max(now, newest.at),
            principal=principal,
            action=action,
            subject=subject,
            outcome=outcome,
            request_id=request_id,
            previous_hash=newest.hash,
            hash="",
            facts=dict(facts),
        )
    )
    connection.execute(insert(tables.audit_log).values(**vars(entry)))
    head = {"sequence": entry.sequence, "hash": entry.hash, "at": entry.at}
    connection.execute(update(tables.audit_head).values(**head))


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
        (entries.outcome, wanted.outcome),
    ):
        if value is not None:
            query = query.where(column == value)
    for column, values in ((entries.action, wanted.actions), (entries.subject, wanted.subjects)):
        if values is not None:
            query = query.where(column.in_(values))
    if wanted.since is not None:
        query = query.where(entries.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(entries.at < wanted.until)
    if before is not None:
        query = query.where(entries.sequence < before)
    rows = connection.execute(query.order_by(entries.sequence.desc()).limit(limit))
    return [_entry(row) for row in rows]


def broken_links(connection: Connection) -> Iterator[str]:
    """Yield one sentence per fault of the chain; nothing when it is whole."""
    entries = all_entries(lambda after: page(connection, after=after, limit=1_000))
    return hash_chain.broken_links(
        entries, hash_chain.entry_hash, first_hash=GENESIS, head=head(connection)
    )


def head(connection: Connection) -> tuple[int, str]:
    """The newest sequence number and hash."""
    row = connection.execute(select(tables.audit_head)).one()
    return row.sequence, row.hash


def _entry(row: Row[tuple[Any, ...]]) -> LogEntry:
    return LogEntry(**row._mapping)
