"""Planning of deliveries: when an agreement begins, after appends, and at scheduled times.

A delivery is a row with its cause, planned under the lock of the agreement, and a job in the same
transaction. One cause is planned once, however often planning is repeated.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.agreement import ON_APPEND, ONCE, Agreement, Item, PlannedDelivery, Terms, is_in_force
from app.job import Job
from app.service.context import new_id
from app.service.events import RowsAppended
from app.service.jobs.enqueue import enqueue
from app.service.jobs.job_types import JobType, Outcome, Pool
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.agreements.expiry import announce_ends
from app.service.sharing.agreements.schedules import schedule_of
from app.service.sharing.events import AgreementChanged
from app.store.database.datasets import datasets
from app.store.database.engine import moment, reading, writing
from app.store.database.sharing import agreements, deliveries

DELIVER, PLAN = "deliver", "plan-deliveries"


def plan_after_change(
    resources: Resources, connection: Connection, event: AgreementChanged
) -> None:
    """Plan the first deliveries of an agreement that has come into force."""
    plan(resources, connection, event.agreement, moment(connection))


def plan(resources: Resources, connection: Connection, agreement: Agreement, now: datetime) -> int:
    """Plan the deliveries due under an agreement, which is locked; return their number."""
    planned = 0
    items = agreement.terms.items if is_in_force(agreement, now) else ()
    for position, item in enumerate(items):
        cause = cause_of(connection, agreement.terms, item, now)
        if cause is None:
            continue
        for way in agreement.terms.deliveries:
            delivery = PlannedDelivery(
                id=new_id("dl"),
                agreement=agreement.id,
                position=position,
                channel=way.channel,
                target=way.target or "",
                cause=cause,
                created_at=now,
            )
            if deliveries.add(connection, delivery):
                enqueue_delivery(resources, connection, delivery.id)
                planned += 1
    return planned


def cause_of(connection: Connection, terms: Terms, item: Item, now: datetime) -> str | None:
    """Return the cause of a delivery at `now`; None when there is nothing to deliver."""
    dataset = datasets.one(connection, item.dataset)
    if dataset is None:
        return None
    if terms.refresh == ONCE:
        return ONCE
    if terms.refresh == ON_APPEND:
        return f"rows:{dataset.rows}"
    schedule = schedule_of(terms.refresh)
    if schedule is None:
        return None
    due = schedule.due(terms.starts_at, now)
    return f"due:{due.astimezone(UTC).isoformat(timespec='seconds')}"


def enqueue_delivery(resources: Resources, connection: Connection, delivery_id: str) -> None:
    """Enqueue the job of a delivery."""
    enqueue(
        connection,
        resources,
        kind=DELIVER,
        subject=delivery_id,
        payload={},
        principal=None,
        dedup_key=f"{DELIVER}:{delivery_id}",
    )


def plan_after_append(resources: Resources, connection: Connection, event: RowsAppended) -> None:
    """Enqueue planning for agreements that are refreshed by appends."""
    if agreements.with_refresh(connection, event.dataset_id, ON_APPEND, moment(connection)):
        enqueue(
            connection, resources, kind=PLAN, subject=event.dataset_id, payload={}, principal=None
        )


def plan_for_dataset(resources: Resources, job: Job, progress: Progress) -> Outcome:
    """Plan for every agreement that is refreshed by appends, each in its own transaction."""
    with reading(resources.engine) as connection:
        named = agreements.with_refresh(connection, job.subject, ON_APPEND, moment(connection))
    for number, agreement_id in enumerate(named):
        progress.report("planning deliveries", number, len(named))
        plan_one(resources, agreement_id)
    return Outcome()


def plan_one(resources: Resources, agreement_id: str) -> int:
    """Plan the deliveries due under an agreement now; return their number."""
    with writing(resources.engine) as connection:
        agreements.lock(connection, agreement_id)
        agreement = agreements.existing(connection, agreement_id)
        return plan(resources, connection, agreement, moment(connection))


PLAN_JOB = JobType(
    plan_for_dataset,
    retry_delays=(5.0, 15.0, 30.0, 60.0, 120.0, 600.0, 600.0, 600.0),
    pool=Pool.SERVICE,
)
"""A job that fails for good is made up for by the next round."""


ROUND = "agreements-round"
EVERY_SECONDS = 300.0
AT_ONCE, OVERDUE = 500, timedelta(minutes=5)


def make_round(resources: Resources, _job: Job, progress: Progress) -> Outcome:
    """Plan what is due, enqueue overdue deliveries again, and announce terms that end soon."""
    with reading(resources.engine) as connection:
        now = moment(connection)
        due = agreements.to_plan(connection, now)
    for number, agreement_id in enumerate(due):
        progress.report("planning deliveries", number, len(due))
        plan_one(resources, agreement_id)
    with writing(resources.engine) as connection:
        for delivery_id in deliveries.unfinished(connection, now - OVERDUE, AT_ONCE):
            enqueue_delivery(resources, connection, delivery_id)
    announce_ends(resources, now)
    return Outcome()


ROUND_JOB = JobType(make_round, retry_delays=(5.0, 30.0), every=EVERY_SECONDS, pool=Pool.SERVICE)
