"""When something is to be delivered: on finalizing, when rows came, or when it is due.

A delivery is a row with its cause, planned under the agreement's lock, and a job in the same
transaction. However often planning is begun again, one cause is planned once.

Every few minutes it is looked after what is due, what was left lying, and what ends soon.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.agreement import ON_APPEND, ONCE, Agreement, Item, State, Terms, is_in_force, term_end
from app.service.context import new_id
from app.service.events import RowsAppended
from app.service.jobs.enqueue import enqueue
from app.service.jobs.job_types import JobType, Outcome, Pool
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.agreements.schedules import schedule_of
from app.service.sharing.webhooks.outbox import Event, tell
from app.store.database.datasets import datasets
from app.store.database.engine import moment, reading, writing
from app.store.database.jobs import Job
from app.store.database.sharing import agreements, deliveries
from app.store.database.sharing.deliveries import PlannedDelivery

DELIVER, PLAN = "deliver", "plan-deliveries"


def plan(resources: Resources, connection: Connection, agreement: Agreement, now: datetime) -> int:
    """Plan what an agreement, which the principal has locked, asks for at this moment; how much."""
    planned = 0
    if not is_in_force(agreement, now):
        return planned
    for position, item in enumerate(agreement.terms.items):
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
                deliver_soon(resources, connection, delivery.id)
                planned += 1
    return planned


def cause_of(connection: Connection, terms: Terms, item: Item, now: datetime) -> str | None:
    """What a delivery at this moment would be for; None when there is nothing to deliver."""
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


def deliver_soon(resources: Resources, connection: Connection, delivery_id: str) -> None:
    """Have a delivery made once this transaction is committed."""
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
    """Enqueue planning for agreements that follow the rows of a data set."""
    if agreements.following(connection, event.dataset_id, ON_APPEND, moment(connection)):
        enqueue(
            connection, resources, kind=PLAN, subject=event.dataset_id, payload={}, principal=None
        )


def plan_for_rows(resources: Resources, job: Job, progress: Progress) -> Outcome:
    """Plan for every agreement that follows the rows of a data set, each in its own transaction."""
    with reading(resources.engine) as connection:
        named = agreements.following(connection, job.subject, ON_APPEND, moment(connection))
    for number, agreement_id in enumerate(named):
        progress.report("planning deliveries", number, len(named))
        plan_one(resources, agreement_id)
    return Outcome()


def plan_one(resources: Resources, agreement_id: str) -> int:
    """Plan for one agreement as it is now; how much."""
    with writing(resources.engine) as connection:
        agreements.lock(connection, agreement_id)
        agreement = agreements.one(connection, agreement_id)
        if agreement is None:
            return 0
        return plan(resources, connection, agreement, moment(connection))


PLANNING = JobType(
    plan_for_rows,
    retry_delays=(5.0, 15.0, 30.0, 60.0, 120.0, 600.0, 600.0, 600.0),
    pool=Pool.SERVICE,
)
"""How planning is done; one that is lost all the same is made good by the next round."""


ROUND = "agreements-round"
EVERY_SECONDS = 300.0
AHEAD_DAYS = (1, 7, 30)
"""How many days before the end it is told."""

AT_ONCE, LEFT_LYING = 500, timedelta(minutes=5)


def go_round(resources: Resources, _job: Job, progress: Progress) -> Outcome:
    """Plan what is due, have deliveries that nobody makes made, and tell what ends soon."""
    with reading(resources.engine) as connection:
        now = moment(connection)
        due = agreements.to_plan(connection, now)
    for number, agreement_id in enumerate(due):
        progress.report("planning deliveries", number, len(due))
        plan_one(resources, agreement_id)
    with writing(resources.engine) as connection:
        for delivery_id in deliveries.unfinished(connection, now - LEFT_LYING, AT_ONCE):
            deliver_soon(resources, connection, delivery_id)
    tell_of_ends(resources, now)
    return Outcome()


def tell_of_ends(resources: Resources, now: datetime) -> None:
    """Tell the parties of agreements that end within 30, 7 or 1 days; of each of these once."""
    after = ""
    while True:
        with reading(resources.engine) as connection:
            found = agreements.page(connection, after=after, limit=AT_ONCE, state=State.FINALIZED)
        for agreement in found:
            mark = mark_of(agreement, now)
            if mark is not None:
                _tell_of_end(resources, agreement, *mark)
        if len(found) < AT_ONCE:
            return
        after = found[-1].id


def mark_of(agreement: Agreement, now: datetime) -> tuple[datetime, int] | None:
    """The end of the present term and the days before it that are told of now, if any are."""
    terms = agreement.terms
    end = term_end(terms, now)
    if end is None or now >= end or now < terms.starts_at:
        return None
    # Whoever agreed on ten days knows on the first of them that it is not thirty.
    assert terms.ends_at is not None
    began = end - (terms.ends_at - terms.starts_at)
    for days in AHEAD_DAYS:
        ahead = end - timedelta(days=days)
        if ahead <= now and ahead > began:
            return end, days
    return None


def _tell_of_end(resources: Resources, agreement: Agreement, end: datetime, days: int) -> None:
    said = end.astimezone(UTC).isoformat()
    facts = {"ends_at": said, "days": days, "renews": agreement.terms.renews}
    with writing(resources.engine) as connection:
        agreements.lock(connection, agreement.id)
        known = agreements.one(connection, agreement.id)
        if known is not None and known.state is State.FINALIZED:
            cause = f"ends:{said}:{days}"
            tell(resources, connection, known, Event.EXPIRING, cause, facts)


ROUNDS = JobType(go_round, retry_delays=(5.0, 30.0), every=EVERY_SECONDS, pool=Pool.SERVICE)
"""How rounds are made."""
