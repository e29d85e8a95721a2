"""Grants: an owner lets a recipient have one level of a data set."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.errors import Conflict, InvalidParameter, NotFound
from app.model import Dataset, Grant, Kind, LogEntry, LogFilter
from app.service.context import RequestContext, auditable_dataset, owned_and_locked
from app.service.resources import Resources
from app.service.sharing.principals import require_recipient
from app.service.unit_of_work import unit_of_work
from app.store.database import chained_logs
from app.store.database.datasets import levels
from app.store.database.engine import moment, reading
from app.store.database.sharing import agreements

UNDO_LASTS = timedelta(minutes=1)
MOST_WITHDRAWALS = 100
"""Of one data set, that are looked through for the one to undo."""


def put_grant(resources: Resources, context: RequestContext, grant: Grant) -> Grant:
    """Give a recipient a level, in place of the one it had."""
    if grant.expires_at is not None:
        if grant.expires_at.tzinfo is None:
            raise InvalidParameter("expires_at needs a time zone", parameter="expires_at")
        if grant.expires_at <= datetime.now(UTC):
            raise InvalidParameter("expires_at must lie in the future", parameter="expires_at")
    with unit_of_work(resources, context) as uow:
        dataset = owned_and_locked(uow.connection, context, grant.dataset)
        require_recipient(uow.connection, grant.recipient)
        if levels.one(uow.connection, grant.dataset, grant.level) is None:
            raise InvalidParameter(
                f"the data set has no level {grant.level!r}; PUT it first", parameter="level"
            )
        check_columns(dataset, grant.columns)
        agreements.put_grant(uow.connection, grant)
        uow.record("grant.put", grant.dataset, recipient=grant.recipient, level=grant.level)
    return grant


def withdraw_grant(
    resources: Resources, context: RequestContext, dataset_id: str, recipient: str
) -> None:
    """Take a grant back; what the recipient has downloaded it has."""
    with unit_of_work(resources, context) as uow:
        owned_and_locked(uow.connection, context, dataset_id)
        grant = agreements.grant_by_hand(uow.connection, dataset_id, recipient)
        if grant is None:
            raise NotFound(f"recipient {recipient!r} has no grant on this data set")
        agreements.remove_grant(uow.connection, dataset_id, recipient)
        ends = grant.expires_at.isoformat() if grant.expires_at else None
        columns = None if grant.columns is None else json.dumps(grant.columns)
        uow.record(
            "grant.withdraw",
            dataset_id,
            recipient=recipient,
            level=grant.level,
            expires_at=ends,
            columns=columns,
            first_row=grant.first_row,
        )


def restore_grant(
    resources: Resources, context: RequestContext, dataset_id: str, recipient: str
) -> Grant:
    """Undo the withdrawal of a grant within a minute, as the audit log has it; Conflict after that."""
    with unit_of_work(resources, context) as uow:
        owned_and_locked(uow.connection, context, dataset_id)
        entry = last_withdrawal(uow.connection, dataset_id, recipient, uow.now)
        if (
            entry is None
            or agreements.grant_by_hand(uow.connection, dataset_id, recipient) is not None
        ):
            raise Conflict("A withdrawal can be undone for a minute. Grant the level anew.")
        columns, ends = entry.facts["columns"], entry.facts["expires_at"]
        grant = Grant(
            dataset_id,
            require_recipient(uow.connection, recipient),
            str(entry.facts["level"]),
            columns=None if columns is None else tuple(json.loads(str(columns))),
            expires_at=None if ends is None else datetime.fromisoformat(str(ends)),
            first_row=int(entry.facts["first_row"] or 0),
        )
        if levels.one(uow.connection, dataset_id, grant.level) is None:
            raise Conflict(f"The level {grant.level!r} was removed meanwhile.")
        agreements.put_grant(uow.connection, grant)
        uow.record("grant.restore", dataset_id, recipient=recipient, level=grant.level)
    return grant


def may_restore(
    resources: Resources, context: RequestContext, dataset_id: str, recipient: str
) -> bool:
    """Whether a withdrawal can still be undone."""
    with reading(resources.engine) as connection:
        auditable_dataset(connection, context, dataset_id)
        now = moment(connection)
        return last_withdrawal(connection, dataset_id, recipient, now) is not None


def last_withdrawal(
    connection: Connection, dataset_id: str, recipient: str, now: datetime
) -> LogEntry | None:
    """The log entry of a recipient's withdrawn grant, for a minute."""
    wanted = LogFilter(actions=("grant.withdraw",), subjects=(dataset_id,), since=now - UNDO_LASTS)
    found = chained_logs.search_audit(connection, wanted, before=None, limit=MOST_WITHDRAWALS)
    return next((one for one in found if one.facts["recipient"] == recipient), None)


def list_grants(resources: Resources, context: RequestContext, dataset_id: str) -> list[Grant]:
    """All grants on a data set, for its owner and for auditors."""
    with reading(resources.engine) as connection:
        auditable_dataset(connection, context, dataset_id)
        return agreements.grants_by_hand(connection, dataset_id)


def count_recipients(resources: Resources, dataset_ids: Iterable[str]) -> dict[str, int]:
    """Count who may have a copy of each data set now; for data sets that the principal oversees."""
    with reading(resources.engine) as connection:
        return agreements.count_recipients(connection, dataset_ids, moment(connection))


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
