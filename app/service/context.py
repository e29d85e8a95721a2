"""Request context: principal, request id, and what the principal may see.

What a principal must not see looks to it as if it did not exist.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.errors import Hidden, InvalidParameter, NotFound, PreconditionFailed, Refusal
from app.model import Column, Dataset, Grant, Kind, Principal, Role
from app.store.database.datasets import datasets, levels
from app.store.database.engine import moment
from app.store.database.sharing import agreements

LARGEST_SEED = 2**53 - 1
"""Up to here every reader of JSON keeps an integer exactly."""

LONGEST_NAME = 200


def seed_or_new(seed: int | None) -> int:
    """The principal's seed, or one that cannot be guessed."""
    return secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed


def new_id(prefix: str) -> str:
    """An id that cannot be guessed and says what it is of."""
    return f"{prefix}_{secrets.token_hex(10)}"


def checked_name(parameter: str, name: str) -> str:
    """The name, if a person can read it, a URL carry it and no file system misread it; or InvalidParameter."""
    if not name or len(name) > LONGEST_NAME or name != name.strip():
        raise InvalidParameter(
            f"{parameter} must have 1 to {LONGEST_NAME} characters, without spaces around them",
            parameter=parameter,
        )
    if name in (".", "..") or any(separator in name for separator in "/\\"):
        raise InvalidParameter(f"{parameter} must not contain / or \\", parameter=parameter)
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise InvalidParameter(
            f"{parameter} must not contain control characters", parameter=parameter
        )
    return name


@dataclass(frozen=True)
class IdempotentRequest:
    """Idempotency-Key of a request, which is then carried out once.

    `fingerprint` hashes the whole request; it reads the rest of the body, so call it before a transaction
    begins. `job` is the job that carries the request out, if one does; a cancelled job commits nothing.
    """

    key: str
    fingerprint: Callable[[], str]
    job: str | None = None


@dataclass(frozen=True)
class RequestContext:
    """A request as the service sees it: who, under which request id, whether only once, and over which revision.

    `if_match` has the revisions of a data set that the principal changes knowingly; None for whatever is there.
    """

    principal: Principal
    request_id: str
    idempotency: IdempotentRequest | None = None
    if_match: frozenset[str] | None = None


def require(context: RequestContext, *roles: Role) -> None:
    """Refuse principals of other roles; an administrator may always."""
    if context.principal.role not in (Role.ADMIN, *roles):
        needed = " or ".join(role.value for role in (Role.ADMIN, *roles))
        raise Refusal(f"this needs a key with the role {needed}", needed_role=needed)


def owned(connection: Connection, context: RequestContext, dataset_id: str) -> Dataset:
    """The data set, for its owner or an administrator."""
    dataset, grant = visible(connection, context, dataset_id)
    if grant is not None or context.principal.role is Role.AUDITOR:
        # This principal knows the data set, so there is nothing to hide but the right to this.
        raise Refusal("only the data set's owner or an administrator may do this")
    return dataset


def owned_and_locked(connection: Connection, context: RequestContext, dataset_id: str) -> Dataset:
    """The same, as the data set's only writer until the transaction ends (invariant 2).

    PreconditionFailed for another revision than the principal knows.
    """
    datasets.lock(connection, dataset_id)
    dataset = owned(connection, context, dataset_id)
    known = context.if_match
    if known is not None and not known & {"*", revision_of(connection, dataset)}:
        raise PreconditionFailed("the data set was changed since you read it", dataset=dataset_id)
    return dataset


def revision_of(connection: Connection, dataset: Dataset) -> str:
    """A hash of what its owner sees of a data set: options, columns, counts of rows, levels."""
    seen = repr((replace(dataset, versions=None), levels.of(connection, dataset.id)))
    return hashlib.sha256(seen.encode()).hexdigest()[:24]


def auditable_dataset(connection: Connection, context: RequestContext, dataset_id: str) -> Dataset:
    """The data set, for those who answer for it: owner, administrator, auditor."""
    dataset, grant = visible(connection, context, dataset_id)
    if grant is not None:
        raise Refusal("only the data set's owner, an auditor or an administrator may do this")
    return dataset


def visible(
    connection: Connection, context: RequestContext, dataset_id: str
) -> tuple[Dataset, Grant | None]:
    """The data set, and the principal's right to its least perturbed level where that is why it may see it.

    A data set that does not exist and one that is hidden take the same steps, are logged alike and
    get the same words, so that neither the answer nor its time tells them apart.
    """
    granted = live_grants(connection, context, dataset_id)
    dataset = datasets.one(connection, dataset_id)
    absent = f"there is no data set {dataset_id!r} for this principal"
    if context.principal.role in (Role.ADMIN, Role.AUDITOR):
        if dataset is None:
            raise NotFound(absent)
        return dataset, None
    if dataset is not None and dataset.owner == context.principal.id:
        return dataset, None
    if dataset is None or not granted:
        raise Hidden(absent)
    return dataset, granted[0]


def live_grants(connection: Connection, context: RequestContext, dataset_id: str) -> list[Grant]:
    """All rights of the principal to a data set at this moment, the least perturbed level first.

    They come from the grant made by hand and from agreements in force; a key that is bound to an
    agreement has that one's alone. The moment is the database's: the clock of the process that asks
    lets nobody in.
    """
    now = moment(connection)
    principal = context.principal
    found = agreements.grants_of(
        connection, principal.id, now, dataset=dataset_id, only=principal.agreement
    )
    if principal.agreement is None:
        by_hand = agreements.grant_by_hand(connection, dataset_id, principal.id)
        if by_hand is not None and (by_hand.expires_at is None or by_hand.expires_at > now):
            found.append(by_hand)
    variances = _variances(connection, dataset_id)
    return sorted(found, key=lambda grant: variances.get(grant.level, math.inf))


def grant_for(
    connection: Connection, context: RequestContext, dataset_id: str, noise_variance: float
) -> Grant | None:
    """The right by which a principal has the copy of this variance; None when it has none.

    A right to a level is one to what is more perturbed, too. Of several it is the one whose level is
    nearest, then the one with most columns and rows: never two put together, since columns of one and
    the level of the other were promised by neither.
    """
    variances = _variances(connection, dataset_id)
    fitting = [
        grant
        for grant in live_grants(connection, context, dataset_id)
        if variances.get(grant.level, math.inf) <= noise_variance
    ]

    def width(grant: Grant) -> tuple[float, float, int]:
        columns = math.inf if grant.columns is None else len(grant.columns)
        return variances[grant.level], columns, -grant.first_row

    return max(fitting, key=width, default=None)


def released_columns(dataset: Dataset, grant: Grant | None) -> tuple[Column, ...]:
    """The columns that can leave: no identifiers, and for a recipient those of its grant."""
    return tuple(
        column
        for column in dataset.columns
        if column.kind is not Kind.IDENTIFIER
        and (grant is None or grant.columns is None or column.name in grant.columns)
    )


def _variances(connection: Connection, dataset_id: str) -> dict[str, float]:
    return {level.name: level.noise_variance for level in levels.of(connection, dataset_id)}
