"""Announcement of terms that end soon: 30, 7 and 1 days before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.agreement import Agreement, State, term_end
from app.service.events import publish
from app.service.resources import Resources
from app.service.sharing.events import AgreementExpiring
from app.store.database.chained_logs import Fact
from app.store.database.engine import reading, writing
from app.store.database.sharing import agreements

DAYS_AHEAD = (1, 7, 30)
PAGE = 500


def announce_ends(resources: Resources, now: datetime) -> None:
    """Publish AgreementExpiring for the agreements whose terms end soon; subscribers ignore repeats."""
    after: str | None = ""
    while after is not None:
        with reading(resources.engine) as connection:
            found = agreements.page(connection, after=after, limit=PAGE, state=State.FINALIZED)
        for agreement in found:
            notice = end_notice(agreement, now)
            if notice is not None:
                _announce(resources, agreement.id, *notice)
        after = found[-1].id if len(found) == PAGE else None


def end_notice(agreement: Agreement, now: datetime) -> tuple[datetime, int] | None:
    """Return the end of the present term and the days before it that are announced now, if any."""
    terms = agreement.terms
    end = term_end(terms, now)
    if end is None or now >= end or now < terms.starts_at:
        return None
    # A term of ten days is not announced 30 days before its end.
    assert terms.ends_at is not None
    began = end - (terms.ends_at - terms.starts_at)
    for days in DAYS_AHEAD:
        if began < end - timedelta(days=days) <= now:
            return end, days
    return None


def _announce(resources: Resources, agreement_id: str, end: datetime, days: int) -> None:
    with writing(resources.engine) as connection:
        agreements.lock(connection, agreement_id)
        agreement = agreements.existing(connection, agreement_id)
        if agreement.state is State.FINALIZED:
            ends_at = end.astimezone(UTC).isoformat()
            renews = agreement.terms.renews
            facts: dict[str, Fact] = {"ends_at": ends_at, "days": days, "renews": renews}
            publish(resources, connection, AgreementExpiring(agreement, facts))
