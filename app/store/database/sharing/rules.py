"""The rules by which an owner's requests are agreed without a person."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from app.agreement import Rule
from app.store.database import tables


def add(connection: Connection, rule: Rule) -> None:
    """Keep a rule."""
    connection.execute(insert(tables.agreement_rules).values(**_listed(asdict(rule))))


def of(connection: Connection, owner: str) -> list[Rule]:
    """An owner's rules, oldest first."""
    rules = tables.agreement_rules.c
    query = select(tables.agreement_rules).where(rules.owner == owner)
    return [_rule(row) for row in connection.execute(query.order_by(rules.created_at, rules.id))]


def one(connection: Connection, rule_id: str) -> Rule | None:
    """A rule by id."""
    query = select(tables.agreement_rules).where(tables.agreement_rules.c.id == rule_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else _rule(row)


def remove(connection: Connection, rule_id: str) -> None:
    """Forget a rule; what was agreed by it stays agreed."""
    connection.execute(delete(tables.agreement_rules).where(tables.agreement_rules.c.id == rule_id))


def _listed(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }


def _rule(row: Row[tuple[Any, ...]]) -> Rule:
    said = dict(row._mapping)
    for name in ("recipients", "purposes"):
        said[name] = None if said[name] is None else tuple(said[name])
    return Rule(**said)
