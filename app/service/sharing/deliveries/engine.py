"""Delivery engine: issues an agreed copy for the recipient, delivers it by a channel, records the receipt.

The receipt and everything that follows from it commit together, if the delivery is still open. A killed
worker leaves it open; one that lost its lease changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from sqlalchemy import Connection

from app.agreement import Agreement, is_in_force
from app.errors import Busy, DomainError, Unavailable
from app.job import Job
from app.model import Principal
from app.service.context import RequestContext
from app.service.copies.issue import CopyRequest, issue_copy
from app.service.jobs.job_types import Outcome, TryAgain
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.deliveries.channels import Assignment, DeliveryReceipt, Execution
from app.service.sharing.deliveries.targets import remove_file
from app.store.database.engine import moment, reading, writing
from app.store.database.sharing import principals


class RightEnded(Exception):
    """The agreement, or the transfer under it, gives no right to the delivery any more."""


class DeliveryTask(Protocol):
    """Delivery by a job; its methods run in transactions of the engine."""

    def assign(self, connection: Connection) -> Assignment | None:
        """Return what is to be delivered; None when nothing is."""

    def require_right(self, connection: Connection) -> None:
        """Raise RightEnded unless the delivery may continue."""

    def complete(self, connection: Connection, receipt: DeliveryReceipt) -> None:
        """Record the receipt; RightEnded when the right has ended."""

    def is_complete(self, connection: Connection) -> bool:
        """Return whether a receipt was recorded: then a pushed file stays."""

    def fail(self, connection: Connection, problem: DomainError | None) -> None:
        """Record that nothing was delivered: by a problem, or None because the right ended."""


def execute(resources: Resources, job: Job, progress: Progress, delivery: DeliveryTask) -> Outcome:
    """Make one delivery, unless it was made or its right has ended."""

    def check() -> None:
        progress.raise_if_cancelled()
        with reading(resources.engine) as connection:
            delivery.require_right(connection)

    work: Assignment | None = None
    try:
        with reading(resources.engine) as connection:
            work = delivery.assign(connection)
            if work is None:
                return Outcome()
            principal = _bound_principal(connection, work)
        check()
        context = RequestContext(principal, job.id)
        copy = issue_copy(resources, context, work.dataset, CopyRequest(level=work.level)).copy
        progress.raise_if_cancelled()
        receipt = work.channel(Execution(resources, context, work, copy, progress, check))
        with writing(resources.engine) as connection:
            delivery.complete(connection, receipt)
    except RightEnded:
        _withdraw(resources, work, delivery, None)
    except (Busy, Unavailable, OSError) as failure:
        if job.attempts < resources.jobs.job_types[job.kind].attempts:
            raise TryAgain from failure
        known = failure if isinstance(failure, DomainError) else Unavailable("unavailable")
        _withdraw(resources, work, delivery, known)
    except DomainError as problem:
        _withdraw(resources, work, delivery, problem)
    return Outcome()


def require_in_force(connection: Connection, agreement: Agreement | None) -> Agreement:
    """Return an agreement that is in force; else RightEnded."""
    if agreement is None or not is_in_force(agreement, moment(connection)):
        raise RightEnded
    return agreement


def _withdraw(
    resources: Resources,
    work: Assignment | None,
    delivery: DeliveryTask,
    problem: DomainError | None,
) -> None:
    """End a delivery without a receipt, and remove a file that this or a killed worker pushed."""
    if work is not None and work.target:
        with reading(resources.engine) as connection:
            complete = delivery.is_complete(connection)
        if not complete:
            remove_file(resources.outside.targets[work.target], work.file)
    with writing(resources.engine) as connection:
        delivery.fail(connection, problem)


def _bound_principal(connection: Connection, work: Assignment) -> Principal:
    """Return the recipient with the rights of the agreement alone; RightEnded when it was revoked."""
    record = principals.one(connection, work.recipient)
    if record is None or record.revoked_at is not None:
        raise RightEnded
    return replace(record.principal, agreement=work.agreement)
