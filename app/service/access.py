"""Who may see what. What a caller must not see looks to it as if it did not exist."""

from __future__ import annotations

import math

from sqlalchemy import Connection

from app.errors import Hidden, NotFound, Refusal
from app.model import Dataset, Grant, Role
from app.service.asking import Ask
from app.store.database.engine import moment
from app.store.database.registered import datasets, levels
from app.store.database.sharing import agreements, grants


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
    """The data set, and the caller's right to its least perturbed level where that is why it may see it.

    A data set that does not exist and one that is hidden take the same steps, are logged alike and
    get the same words, so that neither the answer nor its time tells them apart.
    """
    granted = live_grants(connection, ask, dataset_id)
    dataset = datasets.one(connection, dataset_id)
    absent = f"there is no data set {dataset_id!r} for this caller"
    if ask.caller.role in (Role.ADMIN, Role.AUDITOR):
        if dataset is None:
            raise NotFound(absent)
        return dataset, None
    if dataset is not None and dataset.owner == ask.caller.id:
        return dataset, None
    if dataset is None or not granted:
        raise Hidden(absent)
    return dataset, granted[0]


def live_grants(connection: Connection, ask: Ask, dataset_id: str) -> list[Grant]:
    """All rights of the caller to a data set at this moment, the least perturbed level first.

    They come from the grant made by hand and from agreements in force; a key that is bound to an
    agreement has that one's alone. The moment is the database's: the clock of the process that asks
    lets nobody in.
    """
    now = moment(connection)
    caller = ask.caller
    found = agreements.grants_of(
        connection, caller.id, now, dataset=dataset_id, only=caller.agreement
    )
    if caller.agreement is None:
        by_hand = grants.one(connection, dataset_id, caller.id)
        if by_hand is not None and (by_hand.expires_at is None or by_hand.expires_at > now):
            found.append(by_hand)
    variances = _variances(connection, dataset_id)
    return sorted(found, key=lambda grant: variances.get(grant.level, math.inf))


def grant_for(
    connection: Connection, ask: Ask, dataset_id: str, noise_variance: float
) -> Grant | None:
    """The right by which a caller has the copy of this variance; None when it has none.

    A right to a level is one to what is more perturbed, too. Of several it is the one whose level is
    nearest, then the one with most columns and rows: never two put together, since columns of one and
    the level of the other were promised by neither.
    """
    variances = _variances(connection, dataset_id)
    fitting = [
        grant
        for grant in live_grants(connection, ask, dataset_id)
        if variances.get(grant.level, math.inf) <= noise_variance
    ]

    def width(grant: Grant) -> tuple[float, float, int]:
        columns = math.inf if grant.columns is None else len(grant.columns)
        return variances[grant.level], columns, -grant.first_row

    return max(fitting, key=width, default=None)


def _variances(connection: Connection, dataset_id: str) -> dict[str, float]:
    return {level.name: level.noise_variance for level in levels.of(connection, dataset_id)}
