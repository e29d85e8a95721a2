"""Who asks and what it may see, and the transaction in which a write, its log entry and its receipt are one.

What a caller must not see looks to it as if it did not exist.
"""

from __future__ import annotations

import math
import secrets
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.errors import Conflict, DoneMeanwhile, Hidden, InvalidParameter, NotFound, Refusal
from app.model import Caller, Column, Dataset, Grant, Kind, Role
from app.service.jobs.progress import Cancelled
from app.service.resources import Resources
from app.store.database import audit_log, jobs, receipts
from app.store.database.audit_log import Fact
from app.store.database.engine import moment, reading, writing
from app.store.database.registered import datasets, levels
from app.store.database.sharing import agreements, grants

LARGEST_SEED = 2**53 - 1
"""Up to here every reader of JSON keeps an integer exactly."""

LONGEST_NAME = 200


def seed_or_new(seed: int | None) -> int:
    """The caller's seed, or one that cannot be guessed."""
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
class Once:
    """A caller's wish that this request be carried out once.

    `fingerprint` hashes the whole request; it reads what is left of the body, so it is asked for
    before a transaction begins. `job` is the job that carries it out, where one does: once that was asked to
    end, nothing of it is kept.
    """

    key: str
    fingerprint: Callable[[], str]
    job: str | None = None


@dataclass(frozen=True)
class Ask:
    """A request as the service sees it: who, under which request id, and whether only once."""

    caller: Caller
    request_id: str
    once: Once | None = None


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


class Work:
    """A write under way. It must be recorded exactly once before its block ends."""

    def __init__(self, connection: Connection, ask: Ask, fingerprint: str) -> None:
        self.connection = connection
        self.now = datetime.now(UTC)
        self._ask = ask
        self._fingerprint = fingerprint
        self._told: tuple[str, str, dict[str, Fact]] | None = None

    def record(self, action: str, subject: str, **facts: Fact) -> None:
        """Say what was done. It is kept when the block ends: nobody waits for the rest of it."""
        if self._told is not None:
            raise ValueError("a write is recorded once")
        self._told = (action, subject, facts)

    def keep(self) -> None:
        """Log what was done, and keep the receipt if the caller wants the write only once."""
        if self._told is None:
            raise ValueError("a write must be recorded")
        action, subject, facts = self._told
        once = self._ask.once
        if once is not None:
            # Under a lock on the job's row: who cancels it comes before this write, or after it.
            if once.job is not None and jobs.is_to_end(self.connection, once.job):
                raise Cancelled
            receipts.add(
                self.connection,
                self._ask.caller.id,
                once.key,
                self._fingerprint,
                subject,
                self.now,
            )
        audit_log.append(
            self.connection,
            caller=self._ask.caller.id,
            action=action,
            subject=subject,
            outcome="done",
            request_id=self._ask.request_id,
            facts=facts,
        )


@contextmanager
def work(resources: Resources, ask: Ask) -> Iterator[Work]:
    """A writing transaction; the log entry is committed with what it tells of, or neither is."""
    fingerprint = "" if ask.once is None else ask.once.fingerprint()
    try:
        with writing(resources.engine) as connection:
            under_way = Work(connection, ask, fingerprint)
            yield under_way
            under_way.keep()
    except (IntegrityError, Conflict) as error:
        # Something alike was written at the same time and came first: nothing of this was kept.
        if ask.once is not None and _was_done(resources, ask, ask.once):
            raise DoneMeanwhile(
                "a request with this Idempotency-Key was carried out while this one ran;"
                " send it again to read its answer"
            ) from None
        if isinstance(error, IntegrityError) and is_duplicate(error):
            raise Conflict("the same was written at the same time; look, and try again") from None
        raise


def is_duplicate(error: IntegrityError) -> bool:
    """Whether a unique key was taken, as PostgreSQL and SQLite say it."""
    return getattr(error.orig, "sqlstate", None) == "23505" or getattr(
        error.orig, "sqlite_errorname", None
    ) in ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY")


def _was_done(resources: Resources, ask: Ask, once: Once) -> bool:
    with reading(resources.engine) as connection:
        return receipts.find(connection, ask.caller.id, once.key) is not None
