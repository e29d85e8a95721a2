"""Who may see what. What a caller must not see looks to it as if it did not exist."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection

from app.errors import Hidden, NotFound, Refusal
from app.model import Dataset, Grant, Role
from app.service.asking import Ask
from app.store import datasets, grants


def require(ask: Ask, *roles: Role) -> None:
    """Refuse callers of other roles; an administrator may always."""
    if ask.caller.role not in (Role.ADMIN, *roles):
        needed = " or ".join(role.value for role in (Role.ADMIN, *roles))
        raise Refusal(f"this needs a key with the role {needed}", needed_role=needed)


def owned(connection: Connection, ask: Ask, dataset_id: str) -> Dataset:
    """The data set, for its owner or an administrator."""
    dataset, grant = visible(connection, ask, dataset_id)
    if grant is not None or ask.caller.role is Role.AUDITOR:
        # This caller knows the data set, so there is nothing to hide but the right to this.
        raise Refusal("only the data set's owner or an administrator may do this")
    return dataset


def owned_and_locked(connection: Connection, ask: Ask, dataset_id: str) -> Dataset:
    """The same, as the data set's only writer until the transaction ends (invariant 2)."""
    datasets.lock(connection, dataset_id)
    return owned(connection, ask, dataset_id)


def overseen(connection: Connection, ask: Ask, dataset_id: str) -> Dataset:
    """The data set, for those who answer for it: owner, administrator, auditor."""
    dataset, grant = visible(connection, ask, dataset_id)
    if grant is not None:
        raise Refusal("only the data set's owner, an auditor or an administrator may do this")
    return dataset


def visible(connection: Connection, ask: Ask, dataset_id: str) -> tuple[Dataset, Grant | None]:
    """The data set, and the caller's grant on it where that is why it may see it.

    A data set that does not exist and one that is hidden take the same steps, are logged alike and
    get the same words, so that neither the answer nor its time tells them apart.
    """
    grant = live_grant(connection, ask, dataset_id)
    dataset = datasets.one(connection, dataset_id)
    absent = f"there is no data set {dataset_id!r} for this caller"
    if ask.caller.role in (Role.ADMIN, Role.AUDITOR):
        if dataset is None:
            raise NotFound(absent)
        return dataset, None
    if dataset is not None and dataset.owner == ask.caller.id:
        return dataset, None
    if dataset is None or grant is None:
        raise Hidden(absent)
    return dataset, grant


def live_grant(connection: Connection, ask: Ask, dataset_id: str) -> Grant | None:
    """The caller's grant on a data set, unless it has expired."""
    grant = grants.one(connection, dataset_id, ask.caller.id)
    if grant is None or (grant.expires_at is not None and grant.expires_at <= datetime.now(UTC)):
        return None
    return grant
