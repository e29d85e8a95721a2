"""Grants: which recipient may have which level of which data set."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from app.model import Grant
from app.store.database import tables


def one(connection: Connection, dataset_id: str, recipient: str) -> Grant | None:
    """The grant of a recipient on a data set, expired or not."""
    found = _found(
        connection, tables.grants.c.dataset == dataset_id, tables.grants.c.recipient == recipient
    )
    return found[0] if found else None


def of(connection: Connection, dataset_id: str) -> list[Grant]:
    """All grants on a data set."""
    return _found(connection, tables.grants.c.dataset == dataset_id)


def put(connection: Connection, grant: Grant) -> None:
    """Give a recipient this grant in place of the one it had."""
    remove(connection, grant.dataset, grant.recipient)
    connection.execute(
        insert(tables.grants).values(
            dataset=grant.dataset,
            recipient=grant.recipient,
            level=grant.level,
            expires_at=grant.expires_at,
            columns=list(grant.columns) if grant.columns is not None else None,
        )
    )


def remove(connection: Connection, dataset_id: str, recipient: str) -> bool:
    """Withdraw a grant; whether there was one."""
    gone = connection.execute(
        delete(tables.grants).where(
            tables.grants.c.dataset == dataset_id, tables.grants.c.recipient == recipient
        )
    )
    return gone.rowcount > 0


def _found(connection: Connection, *conditions: ColumnElement[bool]) -> list[Grant]:
    rows = connection.execute(
        select(tables.grants).where(*conditions).order_by(tables.grants.c.recipient)
    )
    return [
        Grant(
            dataset=row.dataset,
            recipient=row.recipient,
            level=row.level,
            expires_at=row.expires_at,
            columns=tuple(row.columns) if row.columns is not None else None,
        )
        for row in rows
    ]
