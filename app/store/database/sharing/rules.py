"""Agreement rules of owners."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from app.agreement import Rule
from app.store.database import tables

COLUMNS = tables.agreement_rules.c


def add(connection: Connection, rule: Rule) -> None:
    """Insert a rule."""
    connection.execute(insert(tables.agreement_rules).values(**vars(rule)))


def of(connection: Connection, owner: str) -> list[Rule]:
    """Return an owner's rules, oldest first."""
    return _select(connection, COLUMNS.owner == owner)


def one(connection: Connection, rule_id: str) -> Rule | None:
    """Return a rule by id."""
    return next(iter(_select(connection, COLUMNS.id == rule_id)), None)


def remove(connection: Connection, rule_id: str) -> None:
    """Delete a rule; what was agreed by it stays agreed."""
    connection.execute(delete(tables.agreement_rules).where(COLUMNS.id == rule_id))


def _select(connection: Connection, wanted: ColumnElement[bool]) -> list[Rule]:
    query = select(tables.agreement_rules).where(wanted)
    rows = connection.execute(query.order_by(COLUMNS.created_at, COLUMNS.id))
    return [Rule(**row._mapping) for row in rows]
