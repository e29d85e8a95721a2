"""Reports of stateless requests, kept sealed for the caller who asked."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, insert, select

from app.store import tables


def add(connection: Connection, report_id: str, caller: str, sealed: bytes, now: datetime) -> None:
    """Keep a report."""
    connection.execute(
        insert(tables.reports).values(id=report_id, caller=caller, body=sealed, created_at=now)
    )


def find(connection: Connection, report_id: str, caller: str) -> bytes | None:
    """The sealed report, if this caller has one of this id."""
    row = connection.execute(
        select(tables.reports.c.body).where(
            tables.reports.c.id == report_id, tables.reports.c.caller == caller
        )
    ).one_or_none()
    return row.body if row else None
