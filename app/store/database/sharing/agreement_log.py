"""An agreement's own log: append-only, its entries chained by hash from the agreement's id on.

    hash = SHA-256(canonical JSON (RFC 8785) of the entry without its hash), the moment in UTC with
    microseconds; the previous hash of the first entry is SHA-256 of the agreement's id.

The newest sequence and hash stand in the agreement itself and are changed with it, so that two who
write at once cannot both follow the same entry. The database refuses to change or remove an entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import rfc8785
from sqlalchemy import Connection, Row, insert, select, update

from app.agreement import Agreement, AgreementEntry, Party, State
from app.store.database import tables

Fact = str | int | float | bool | None


def first_hash(agreement_id: str) -> str:
    """What stands before the first entry."""
    return hashlib.sha256(agreement_id.encode()).hexdigest()


def entry_after(
    agreement: Agreement,
    *,
    at: datetime,
    principal: str,
    party: Party | None,
    event: str,
    state: State,
    facts: Mapping[str, Fact],
) -> AgreementEntry:
    """The entry that comes next."""
    entry = AgreementEntry(
        agreement=agreement.id,
        sequence=agreement.log_sequence + 1,
        at=at,
        principal=principal,
        party=party,
        event=event,
        state=state,
        facts=dict(facts),
        previous_hash=agreement.log_hash,
        hash="",
    )
    return replace(entry, hash=entry_hash(entry))


def append(connection: Connection, entry: AgreementEntry) -> None:
    """Keep an entry. The agreement's head must be changed to it in the same transaction."""
    connection.execute(insert(tables.agreement_log).values(**asdict(entry)))


def note(
    connection: Connection,
    agreement: Agreement,
    *,
    at: datetime,
    principal: str,
    event: str,
    facts: Mapping[str, Fact],
) -> Agreement:
    """Keep what happened under an agreement, which the principal has locked, and its new head."""
    entry = entry_after(
        agreement,
        at=at,
        principal=principal,
        party=None,
        event=event,
        state=agreement.state,
        facts=facts,
    )
    append(connection, entry)
    connection.execute(
        update(tables.agreements)
        .where(tables.agreements.c.id == agreement.id)
        .values(log_sequence=entry.sequence, log_hash=entry.hash)
    )
    return replace(agreement, log_sequence=entry.sequence, log_hash=entry.hash)


def page(
    connection: Connection, agreement_id: str, *, after: int, limit: int
) -> list[AgreementEntry]:
    """Entries in order, after the sequence number given."""
    log = tables.agreement_log
    rows = connection.execute(
        select(log)
        .where(log.c.agreement == agreement_id, log.c.sequence > after)
        .order_by(log.c.sequence)
        .limit(limit)
    )
    return [_entry(row) for row in rows]


def broken_links(connection: Connection, agreement: Agreement) -> Iterator[str]:
    """What is wrong with the chain, one sentence each; nothing when it is whole."""
    previous, expected = first_hash(agreement.id), 1
    while entries := page(connection, agreement.id, after=expected - 1, limit=1_000):
        for entry in entries:
            if entry.sequence != expected or entry.previous_hash != previous:
                yield f"entry {entry.sequence} does not follow from the one before it"
            if entry_hash(entry) != entry.hash:
                yield f"entry {entry.sequence} was altered"
            previous, expected = entry.hash, entry.sequence + 1
    if (agreement.log_sequence, agreement.log_hash) != (expected - 1, previous):
        yield f"the log ends at entry {expected - 1}, but the agreement names another end"


def entry_hash(entry: AgreementEntry) -> str:
    """The hash at the head of this module."""
    said = {name: value for name, value in asdict(entry).items() if name != "hash"}
    said["at"] = entry.at.astimezone(UTC).isoformat(timespec="microseconds")
    return hashlib.sha256(rfc8785.dumps(said)).hexdigest()


def _entry(row: Row[tuple[Any, ...]]) -> AgreementEntry:
    return AgreementEntry(
        agreement=row.agreement,
        sequence=row.sequence,
        at=row.at,
        principal=row.principal,
        party=None if row.party is None else Party(row.party),
        event=row.event,
        state=State(row.state),
        facts=row.facts,
        previous_hash=row.previous_hash,
        hash=row.hash,
    )
