"""Grants: an owner lets a recipient have one level of a data set."""

from __future__ import annotations

from datetime import UTC, datetime

from app.errors import InvalidParameter, NotFound
from app.model import Dataset, Grant, Kind, Role
from app.service.asking import Ask, overseen, owned_and_locked, work
from app.service.resources import Resources
from app.store.database.engine import reading
from app.store.database.registered import levels
from app.store.database.sharing import callers, grants


def put_grant(resources: Resources, ask: Ask, grant: Grant) -> Grant:
    """Give a recipient a level, in place of the one it had."""
    if grant.expires_at is not None:
        if grant.expires_at.tzinfo is None:
            raise InvalidParameter("expires_at needs a time zone", parameter="expires_at")
        if grant.expires_at <= datetime.now(UTC):
            raise InvalidParameter("expires_at must lie in the future", parameter="expires_at")
    with work(resources, ask) as under_way:
        dataset = owned_and_locked(under_way.connection, ask, grant.dataset)
        record = callers.one(under_way.connection, grant.recipient)
        if record is None or record.revoked_at or record.caller.role is not Role.RECIPIENT:
            raise NotFound(f"there is no recipient {grant.recipient!r}")
        if levels.one(under_way.connection, grant.dataset, grant.level) is None:
            raise InvalidParameter(
                f"the data set has no level {grant.level!r}; PUT it first", parameter="level"
            )
        check_columns(dataset, grant.columns)
        grants.put(under_way.connection, grant)
        under_way.record("grant.put", grant.dataset, recipient=grant.recipient, level=grant.level)
    return grant


def withdraw_grant(resources: Resources, ask: Ask, dataset_id: str, recipient: str) -> None:
    """Take a grant back; what the recipient has downloaded it has."""
    with work(resources, ask) as under_way:
        owned_and_locked(under_way.connection, ask, dataset_id)
        if not grants.remove(under_way.connection, dataset_id, recipient):
            raise NotFound(f"recipient {recipient!r} has no grant on this data set")
        under_way.record("grant.withdraw", dataset_id, recipient=recipient)


def list_grants(resources: Resources, ask: Ask, dataset_id: str) -> list[Grant]:
    """All grants on a data set, for its owner and for auditors."""
    with reading(resources.engine) as connection:
        overseen(connection, ask, dataset_id)
        return grants.of(connection, dataset_id)


def check_columns(dataset: Dataset, names: tuple[str, ...] | None) -> None:
    """InvalidParameter unless these are columns that can be released, each named once."""
    if names is None:
        return
    if not names or len(set(names)) != len(names):
        raise InvalidParameter("columns must name one or more columns once", parameter="columns")
    for name in names:
        column = dataset.column(name)
        if column is None:
            raise InvalidParameter(f"there is no column {name!r}", parameter="columns", column=name)
        if column.kind is Kind.IDENTIFIER:
            raise InvalidParameter(
                f"column {name!r} is an identifier and is never released",
                parameter="columns",
                column=name,
            )
