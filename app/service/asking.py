"""Who asks, and the transaction in which a write, its log entry and its receipt are one."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.errors import Conflict, IdempotencyConflict
from app.model import Caller
from app.service.resources import Resources
from app.store import audit_log, receipts
from app.store.audit_log import Fact
from app.store.engine import reading, writing


@dataclass(frozen=True)
class Once:
    """A caller's wish that this request be carried out once."""

    key: str
    fingerprint: str


@dataclass(frozen=True)
class Ask:
    """A request as the service sees it: who, under which request id, and whether only once."""

    caller: Caller
    request_id: str
    once: Once | None = None


class Work:
    """A write under way. It must be recorded exactly once, last, before its block ends."""

    def __init__(self, connection: Connection, ask: Ask) -> None:
        self.connection = connection
        self.now = datetime.now(UTC)
        self._ask = ask
        self.recorded = False

    def record(self, action: str, subject: str, **facts: Fact) -> None:
        """Log what was done, and keep the receipt if the caller wants the write only once."""
        once = self._ask.once
        if once is not None:
            receipts.add(
                self.connection,
                self._ask.caller.id,
                once.key,
                once.fingerprint,
                subject,
                self.now,
            )
        audit_log.append(
            self.connection,
            at=self.now,
            caller=self._ask.caller.id,
            action=action,
            subject=subject,
            outcome="done",
            request_id=self._ask.request_id,
            facts=facts,
        )
        self.recorded = True


@contextmanager
def work(resources: Resources, ask: Ask) -> Iterator[Work]:
    """A writing transaction; the log entry is committed with what it tells of, or neither is."""
    try:
        with writing(resources.engine) as connection:
            under_way = Work(connection, ask)
            yield under_way
            if not under_way.recorded:
                raise ValueError("a write must be recorded")
    except IntegrityError as error:
        # Something alike was written at the same time and came first: nothing of this was kept.
        if ask.once is not None and _was_done(resources, ask, ask.once):
            raise IdempotencyConflict(
                "a request with this Idempotency-Key was carried out while this one ran;"
                " send it again to read its answer"
            ) from None
        if _is_duplicate(error):
            raise Conflict("the same was written at the same time; look, and try again") from None
        raise


def _is_duplicate(error: IntegrityError) -> bool:
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
