"""Log of an agreement: append-only, a hash chain (`hash_chain.py`) that begins with the SHA-256 of the agreement's id.

The newest sequence and hash stand in the agreement and change with it. The database refuses to change or
remove an entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from app.agreement import Agreement, AgreementEntry, Party, State
from app.store.database import hash_chain, tables
from app.store.database.audit_log import Fact
from app.store.database.engine import moment
from app.store.database.hash_chain import all_entries, chained, entry_hash

SERVICE = "service"
"""Principal of entries that no party made."""


def first_hash(agreement_id: str) -> str:
    """Return the hash before the first entry."""
    return hashlib.sha256(agreement_id.encode()).hexdigest()


def append(
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


def page(
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
    return [_entry(row) for row in rows]


def broken_links(connection: Connection, agreement: Agreement) -> Iterator[str]:
    """Yield one sentence per fault of the chain; nothing when it is whole."""
    return hash_chain.broken_links(
        all_entries(lambda after: page(connection, agreement.id, after=after, limit=1_000)),
        entry_hash,
        first_hash=first_hash(agreement.id),
        head=(agreement.log_sequence, agreement.log_hash),
    )


def _entry(row: Row[tuple[Any, ...]]) -> AgreementEntry:
    party = None if row.party is None else Party(row.party)
    return AgreementEntry(**{**row._mapping, "party": party, "state": State(row.state)})
