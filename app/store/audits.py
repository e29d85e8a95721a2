"""Audits: what attacks on a data set's copies found, sealed as it was told."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, Row, insert, select, tuple_

from app.store import tables


@dataclass(frozen=True, repr=False)
class KeptAudit:
    """An audit as it is kept; `body` is sealed."""

    id: str
    dataset: str
    caller: str
    created_at: datetime
    body: bytes


def add(connection: Connection, audit: KeptAudit) -> None:
    """Keep an audit."""
    connection.execute(insert(tables.audits).values(**asdict(audit)))


def one(connection: Connection, dataset_id: str, audit_id: str) -> KeptAudit | None:
    """An audit of a data set by id."""
    query = select(tables.audits).where(
        tables.audits.c.dataset == dataset_id, tables.audits.c.id == audit_id
    )
    row = connection.execute(query).one_or_none()
    return _kept(row) if row is not None else None


def page(connection: Connection, dataset_id: str, *, after: str, limit: int) -> list[KeptAudit]:
    """Audits of a data set in the order they were run, after the one named (all where none is)."""
    audits = tables.audits.c
    query = select(tables.audits).where(audits.dataset == dataset_id)
    if after:
        then = select(audits.created_at).where(audits.id == after).scalar_subquery()
        query = query.where(tuple_(audits.created_at, audits.id) > tuple_(then, after))
    rows = connection.execute(query.order_by(audits.created_at, audits.id).limit(limit))
    return [_kept(row) for row in rows]


def _kept(row: Row[tuple[object, ...]]) -> KeptAudit:
    return KeptAudit(row.id, row.dataset, row.caller, row.created_at, row.body)
