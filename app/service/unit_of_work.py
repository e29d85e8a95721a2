"""Unit of work: one transaction in which a write, its audit log entry and its idempotency receipt commit together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.errors import Conflict, DoneMeanwhile
from app.service.context import IdempotentRequest, RequestContext
from app.service.progress import Cancelled
from app.service.resources import Resources
from app.store.database import chained_logs, jobs, receipts
from app.store.database.chained_logs import Fact
from app.store.database.engine import reading, writing


class UnitOfWork:
    """A write under way. It must be recorded exactly once before its block ends."""

    def __init__(self, connection: Connection, context: RequestContext, fingerprint: str) -> None:
        self.connection = connection
        self.now = datetime.now(UTC)
        self._ask = context
        self._fingerprint = fingerprint
        self._told: tuple[str, str, dict[str, Fact]] | None = None

    def record(self, action: str, subject: str, **facts: Fact) -> None:
        """Record what was done; the entry is written when the block ends."""
        if self._told is not None:
            raise ValueError("a write is recorded once")
        self._told = (action, subject, facts)

    def keep(self) -> None:
        """Log what was done, and keep the receipt if the principal wants the write only once."""
        if self._told is None:
            raise ValueError("a write must be recorded")
        action, subject, facts = self._told
        idempotency = self._ask.idempotency
        if idempotency is not None:
            # Under a lock on the job's row: who cancels it comes before this write, or after it.
            if idempotency.job is not None and jobs.is_to_end(self.connection, idempotency.job):
                raise Cancelled
            receipts.add(
                self.connection,
                self._ask.principal.id,
                idempotency.key,
                self._fingerprint,
                subject,
                self.now,
            )
        chained_logs.append_audit(
            self.connection,
            principal=self._ask.principal.id,
            action=action,
            subject=subject,
            outcome="done",
            request_id=self._ask.request_id,
            facts=facts,
        )


@contextmanager
def unit_of_work(resources: Resources, context: RequestContext) -> Iterator[UnitOfWork]:
    """A writing transaction; the log entry is committed with what it tells of, or neither is."""
    fingerprint = "" if context.idempotency is None else context.idempotency.fingerprint()
    try:
        with writing(resources.engine) as connection:
            uow = UnitOfWork(connection, context, fingerprint)
            yield uow
            uow.keep()
    except (IntegrityError, Conflict) as error:
        # Something alike was written at the same time and came first: nothing of this was kept.
        if context.idempotency is not None and _was_done(resources, context, context.idempotency):
            raise DoneMeanwhile(
                "a request with this Idempotency-Key was carried out while this one ran;"
                " send it again to read its answer"
            ) from None
        if isinstance(error, IntegrityError) and is_duplicate(error):
            raise Conflict("the same was written at the same time; look, and try again") from None
        raise


def is_duplicate(error: IntegrityError) -> bool:
    """Return whether a unique key was taken, as PostgreSQL and SQLite say it."""
    return getattr(error.orig, "sqlstate", None) == "23505" or getattr(
        error.orig, "sqlite_errorname", None
    ) in ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY")


def _was_done(
    resources: Resources, context: RequestContext, idempotency: IdempotentRequest
) -> bool:
    with reading(resources.engine) as connection:
        return receipts.find(connection, context.principal.id, idempotency.key) is not None
