"""Hash-chained, append-only logs: the audit log, and the log of each agreement.

The hash of every entry covers the hash of the entry before it:

    hash = SHA-256(canonical JSON (RFC 8785) of the entry without its hash),

with moments in UTC to the microsecond. The history of copies has a hash of its own (`copies/history.py`). The database
refuses to change or remove an entry (migrations/append_only.py); the chain reveals it if somebody did so anyway.

The one row of `audit_head` holds the newest sequence, hash and moment. It is also the lock: an entry is
appended in the transaction of the change that it records, so that log and state agree. The lock is taken
last, right before the commit, so that unrelated writes wait for each other no longer than an insert takes.
The moment of an entry is when it was appended, and never before that of the previous entry, whatever the
clocks of several machines show.

The chain of an agreement begins with the SHA-256 of its id. The newest sequence and hash stand in the agreement and
change with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

import rfc8785
from sqlalchemy import Connection, Row, insert, select, update

from app.agreement import Agreement, AgreementEntry, Party, State
from app.model import LogEntry, LogFilter
from app.store.database import tables
from app.store.database.engine import lock_row, moment

GENESIS = "0" * 64


class Entry(Protocol):
    """Entry of any chain."""

    @property
    def sequence(self) -> int: ...
    @property
    def previous_hash(self) -> str: ...
    @property
    def hash(self) -> str: ...


E = TypeVar("E", bound=Entry)
L = TypeVar("L", LogEntry, AgreementEntry)


def chained(entry: L) -> L:
    """Return the entry with its hash."""
    return replace(entry, hash=entry_hash(entry))


def entry_hash(entry: LogEntry | AgreementEntry) -> str:
    """Return the hash at the head of this module."""
    content: dict[str, Any] = {
        name: _plain(value) for name, value in vars(entry).items() if name != "hash"
    }
    return hashlib.sha256(rfc8785.dumps(content)).hexdigest()


def all_entries(page: Callable[[int], Sequence[E]]) -> Iterator[E]:
    """Yield the entries of all pages; `page` returns those after a sequence number."""
    after = 0
    while entries := page(after):
        yield from entries
        after = entries[-1].sequence


def chain_faults(
    entries: Iterable[E],
    hash_of: Callable[[E], str],
    *,
    first_hash: str,
    first: int = 1,
    head: tuple[int, str] | None = None,
) -> Iterator[str]:
    """Yield one sentence per fault of the chain; nothing when it is whole.

    where:
        first_hash, first  the hash before the first entry, and that entry's number
        head               the number and hash of the newest entry, as recorded elsewhere
    """
    previous, expected = first_hash, first
    for entry in entries:
        if entry.sequence != expected:
            yield f"entries {expected} to {entry.sequence - 1} are missing"
        elif entry.previous_hash != previous:
            yield f"entry {entry.sequence} does not follow from the one before it"
        if hash_of(entry) != entry.hash:
            yield f"entry {entry.sequence} was altered"
        previous, expected = entry.hash, entry.sequence + 1
    if head is not None and head != (expected - 1, previous):
        yield f"the log ends at entry {expected - 1}, but {head[0]} entries were written"


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return value


Fact = str | int | float | bool | None


def lock_audit(connection: Connection) -> None:
    """Take the lock of the chain before the transaction reads anything.

    Every write ends with that lock. One that begins with it too runs alone until its commit: for what a
    start does once, never for a request.
    """
    _locked_head(connection)


def _locked_head(connection: Connection) -> Row[Any]:
    """Return the head of the chain, locked until the transaction ends."""
    query = select(tables.audit_head).with_for_update()
    return lock_row(connection, tables.audit_head.name, query).one()


def append_audit(
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
    newest, now = _locked_head(connection), datetime.now(UTC)
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
    audit_head = {"sequence": entry.sequence, "hash": entry.hash, "at": entry.at}
    connection.execute(update(tables.audit_head).values(**audit_head))


def audit_page(connection: Connection, *, after: int, limit: int) -> list[LogEntry]:
    """Entries in order, after the sequence number given."""
    rows = connection.execute(
        select(tables.audit_log)
        .where(tables.audit_log.c.sequence > after)
        .order_by(tables.audit_log.c.sequence)
        .limit(limit)
    )
    return [_audit_entry(row) for row in rows]


def search_audit(
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
    return [_audit_entry(row) for row in rows]


def audit_faults(connection: Connection) -> Iterator[str]:
    """Yield one sentence per fault of the chain; nothing when it is whole."""
    entries = all_entries(lambda after: audit_page(connection, after=after, limit=1_000))
    return chain_faults(entries, entry_hash, first_hash=GENESIS, head=audit_head(connection))


def audit_head(connection: Connection) -> tuple[int, str]:
    """Return the newest sequence number and hash."""
    row = connection.execute(select(tables.audit_head)).one()
    return row.sequence, row.hash


def _audit_entry(row: Row[tuple[Any, ...]]) -> LogEntry:
    return LogEntry(**row._mapping)


SERVICE = "service"
"""Principal of entries that no party made."""


def first_hash(agreement_id: str) -> str:
    """Return the hash before the first entry."""
    return hashlib.sha256(agreement_id.encode()).hexdigest()


def append_agreement(
    connection: Connection,
    agreement_id: str,
    event: str,
    facts: Mapping[str, Fact],
    *,
    principal: str = SERVICE,
    party: Party | None = None,
) -> AgreementEntry:
    """Add an entry and move the head of the agreement, which this transaction has locked.

    Its moment is never before that of the last change, whatever the clock did.
    """
    agreements = tables.agreements
    head = connection.execute(select(agreements).where(agreements.c.id == agreement_id)).one()
    entry = chained(
        AgreementEntry(
            agreement=agreement_id,
            sequence=head.log_sequence + 1,
            at=max(moment(connection), head.changed_at),
            principal=principal,
            party=party,
            event=event,
            state=State(head.state),
            facts=dict(facts),
            previous_hash=head.log_hash,
            hash="",
        )
    )
    connection.execute(insert(tables.agreement_log).values(**vars(entry)))
    connection.execute(
        update(agreements)
        .where(agreements.c.id == agreement_id)
        .values(log_sequence=entry.sequence, log_hash=entry.hash)
    )
    return entry


def agreement_page(
    connection: Connection, agreement_id: str, *, after: int, limit: int
) -> list[AgreementEntry]:
    """Return entries in order, after a sequence number."""
    log = tables.agreement_log
    rows = connection.execute(
        select(log)
        .where(log.c.agreement == agreement_id, log.c.sequence > after)
        .order_by(log.c.sequence)
        .limit(limit)
    )
    return [_agreement_entry(row) for row in rows]


def agreement_faults(connection: Connection, agreement: Agreement) -> Iterator[str]:
    """Yield one sentence per fault of the chain; nothing when it is whole."""
    return chain_faults(
        all_entries(
            lambda after: agreement_page(connection, agreement.id, after=after, limit=1_000)
        ),
        entry_hash,
        first_hash=first_hash(agreement.id),
        head=(agreement.log_sequence, agreement.log_hash),
    )


def _agreement_entry(row: Row[tuple[Any, ...]]) -> AgreementEntry:
    party = None if row.party is None else Party(row.party)
    return AgreementEntry(**{**row._mapping, "party": party, "state": State(row.state)})
