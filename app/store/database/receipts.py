"""Idempotency receipts of writes: a write with an Idempotency-Key happens once.

The receipt is inserted in the transaction of the write, so a second request with the same key
either finds it or fails to commit. The answer is added afterwards, sealed, to be repeated.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, insert, select, update

from app.model import Receipt
from app.store.database import tables


def find(connection: Connection, principal: str, key: str) -> Receipt | None:
    """The receipt for a principal's key, if the write was done."""
    row = connection.execute(select(tables.receipts).where(*_is(principal, key))).one_or_none()
    return Receipt(row.fingerprint, row.subject, row.status, row.answer) if row else None


def add(
    connection: Connection, principal: str, key: str, fingerprint: str, subject: str, now: datetime
) -> None:
    """Keep that the write is done; a second one with the same key breaks a constraint."""
    connection.execute(
        insert(tables.receipts).values(
            principal=principal,
            idempotency_key=key,
            fingerprint=fingerprint,
            subject=subject,
            created_at=now,
        )
    )


def add_answer(
    connection: Connection, principal: str, key: str, status: int, sealed: bytes
) -> None:
    """Keep what was answered."""
    connection.execute(
        update(tables.receipts).where(*_is(principal, key)).values(status=status, answer=sealed)
    )


def _is(principal: str, key: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return (tables.receipts.c.principal == principal, tables.receipts.c.idempotency_key == key)
