"""Grants: an owner lets a recipient have one level of a data set."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from app.errors import InvalidParameter, NotFound
from app.model import Dataset, Grant, Kind
from app.service.context import RequestContext, auditable_dataset, owned_and_locked
from app.service.resources import Resources
from app.service.sharing.principals import require_recipient
from app.service.unit_of_work import unit_of_work
from app.store.database.datasets import levels
from app.store.database.engine import moment, reading
from app.store.database.sharing import agreements


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
        if not agreements.remove_grant(uow.connection, dataset_id, recipient):
            raise NotFound(f"recipient {recipient!r} has no grant on this data set")
        uow.record("grant.withdraw", dataset_id, recipient=recipient)


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
