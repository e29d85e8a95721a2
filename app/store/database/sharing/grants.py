"""Grants: which recipient has which level of which data set."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from app.model import Grant
from app.store.database import tables

COLUMNS = tables.grants.c


def one(connection: Connection, dataset_id: str, recipient: str) -> Grant | None:
    """Return the grant of a recipient on a data set, expired or not."""
    wanted = COLUMNS.dataset == dataset_id, COLUMNS.recipient == recipient
    return next(iter(_select(connection, *wanted)), None)


def of(connection: Connection, dataset_id: str) -> list[Grant]:
    """Return all grants on a data set."""
    return _select(connection, COLUMNS.dataset == dataset_id)


def put(connection: Connection, grant: Grant) -> None:
    """Give a recipient this grant in place of the one it had."""
    remove(connection, grant.dataset, grant.recipient)
    values = {name: getattr(grant, name) for name in COLUMNS.keys()}  # noqa: SIM118  # a collection of columns
    connection.execute(insert(tables.grants).values(**values))


def remove(connection: Connection, dataset_id: str, recipient: str) -> bool:
    """Delete a grant; return whether there was one."""
    wanted = COLUMNS.dataset == dataset_id, COLUMNS.recipient == recipient
    return connection.execute(delete(tables.grants).where(*wanted)).rowcount > 0


def _select(connection: Connection, *wanted: ColumnElement[bool]) -> list[Grant]:
    query = select(tables.grants).where(*wanted).order_by(COLUMNS.recipient)
    return [Grant(**row._mapping) for row in connection.execute(query)]
