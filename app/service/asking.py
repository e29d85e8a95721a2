"""Who asks, and the transaction in which a write, its log entry and its receipt are one."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.errors import Conflict, DoneMeanwhile
from app.model import Caller
from app.service.jobs.progress import Cancelled
from app.service.resources import Resources
from app.store.database import audit_log, jobs, receipts
from app.store.database.audit_log import Fact
from app.store.database.engine import reading, writing

LARGEST_SEED = 2**53 - 1
"""Up to here every reader of JSON keeps an integer exactly."""


def seed_or_new(seed: int | None) -> int:
    """The caller's seed, or one that cannot be guessed."""
    return secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed


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


def new_id(prefix: str) -> str:
    """An id that cannot be guessed and says what it is of."""
    return f"{prefix}_{secrets.token_hex(10)}"
