"""What is looked after every few minutes: what is due, what was left lying, and what ends soon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.agreement import Agreement, State, term_end
from app.service.jobs.kinds import Kind, Outcome
from app.service.jobs.progress import Progress
from app.service.resources import Resources
from app.service.sharing.deliveries.planning import deliver_soon, plan_one
from app.service.sharing.webhooks.telling import Event, tell
from app.store.database.engine import moment, reading, writing
from app.store.database.jobs import Job
from app.store.database.sharing import agreements, deliveries

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
        progress.tell("planning deliveries", number, len(due))
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


ROUNDS = Kind(go_round, pauses=(5.0, 30.0), every=EVERY_SECONDS)
"""How rounds are made."""
