"""Validation of proposed terms against stored data sets and levels; hash of terms."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import rfc8785
from sqlalchemy import Connection

from app.agreement import (
    ON_APPEND,
    ONCE,
    Agreement,
    Channel,
    Delivery,
    Item,
    Party,
    Terms,
)
from app.errors import Hidden, InvalidParameter, InvalidState
from app.model import Dataset
from app.service.context import RequestContext, owned
from app.service.sharing.agreements.schedules import schedule_of
from app.service.sharing.grants import check_columns
from app.store.database.datasets import datasets, levels

MOST_ITEMS = 100
SHORTEST_RENEWED = timedelta(days=1)


@dataclass(frozen=True)
class DraftItem:
    """Requested level, columns and rows of a data set."""

    dataset: str
    level: str
    columns: tuple[str, ...] | None = None
    rows_since: int = 0


@dataclass(frozen=True)
class Draft:
    """Terms as they are proposed; without `starts_at` they hold from now on."""

    items: tuple[DraftItem, ...]
    purpose: str
    legal_basis: str = ""
    text: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    renews: bool = False
    refresh: str = ONCE
    deliveries: tuple[Delivery, ...] = (Delivery(Channel.PULL),)
    traceable: bool = False


def checked_terms(
    connection: Connection,
    context: RequestContext,
    party: Party,
    draft: Draft,
    *,
    now: datetime,
    targets: Collection[str],
    known: Agreement | None = None,
) -> tuple[str, Terms]:
    """The provider and the terms, or what is wrong with them.

    A provider may offer what it owns. A consumer may ask for what is listed and offered, and for what
    stands in the terms already (`known`); anything else does not exist for it.
    """
    starts_at = draft.starts_at or now
    _check_time(starts_at, draft, now)
    _check_refresh(draft.refresh)
    _check_deliveries(draft.deliveries, targets)
    named = [(item.dataset, item.level) for item in draft.items]
    if not 0 < len(named) <= MOST_ITEMS or len(set(named)) < len(named):
        raise InvalidParameter(
            f"items must name 1 to {MOST_ITEMS} different levels of data sets", parameter="items"
        )
    owners: set[str] = set()
    items: list[Item] = []
    for item in draft.items:
        dataset, variance = (
            _offered(connection, context, item)
            if party is Party.PROVIDER
            else _asked_for(connection, item, known)
        )
        check_columns(dataset, item.columns)
        owners.add(dataset.owner)
        items.append(Item(item.dataset, item.level, variance, item.columns, item.rows_since))
    if len(owners) > 1:
        raise InvalidParameter(
            "all data sets of an agreement must have the same owner", parameter="items"
        )
    provider = owners.pop()
    if known is not None and provider != known.provider:
        raise InvalidParameter("the data sets must be the provider's", parameter="items")
    return provider, Terms(
        items=tuple(items),
        purpose=draft.purpose,
        legal_basis=draft.legal_basis,
        text=draft.text,
        text_sha256=hashlib.sha256(draft.text.encode()).hexdigest(),
        starts_at=starts_at,
        ends_at=draft.ends_at,
        renews=draft.renews,
        refresh=draft.refresh,
        deliveries=draft.deliveries,
        traceable=draft.traceable,
    )


def require_still_possible(connection: Connection, terms: Terms, now: datetime) -> None:
    """InvalidState when what the terms name is not any more what it was when they were written."""
    if terms.ends_at is not None and not terms.renews and terms.ends_at <= now:
        raise InvalidState("the terms have ended before they were agreed; propose others")
    for item in terms.items:
        level = levels.one(connection, item.dataset, item.level)
        if level is None or level.noise_variance != item.noise_variance:
            raise InvalidState(
                f"level {item.level!r} is not any more what the terms name; propose others",
                level=item.level,
            )


def terms_digest(terms: Terms) -> str:
    """SHA-256 of the terms in canonical JSON: what an entry of the log says was agreed."""
    return hashlib.sha256(rfc8785.dumps(_plain(terms))).hexdigest()


def _plain(terms: Terms) -> dict[str, Any]:
    said = asdict(terms)
    del said["text"]
    for name in ("starts_at", "ends_at"):
        moment = said[name]
        said[name] = None if moment is None else moment.astimezone(UTC).isoformat()
    return said


def _check_time(starts_at: datetime, draft: Draft, now: datetime) -> None:
    for name, moment in (("starts_at", starts_at), ("ends_at", draft.ends_at)):
        if moment is not None and moment.tzinfo is None:
            raise InvalidParameter(f"{name} needs a time zone", parameter=name)
    if draft.ends_at is None:
        if draft.renews:
            raise InvalidParameter("what renews needs an end", parameter="renews")
        return
    if draft.ends_at <= now:
        raise InvalidParameter("ends_at must lie in the future", parameter="ends_at")
    if draft.ends_at <= starts_at:
        raise InvalidParameter("ends_at must lie after starts_at", parameter="ends_at")
    if draft.renews and draft.ends_at - starts_at < SHORTEST_RENEWED:
        raise InvalidParameter("a term that renews has a day or more", parameter="renews")


def _check_refresh(refresh: str) -> None:
    if refresh in (ONCE, ON_APPEND):
        return
    schedule = schedule_of(refresh)
    if schedule is None:
        raise InvalidParameter(
            f"refresh must be {ONCE!r}, {ON_APPEND!r}, a pause as in ISO 8601 ('P1D', 'PT6H'), or the"
            " five fields of a cron line in UTC that some day fits ('30 6 * * MON-FRI')",
            parameter="refresh",
        )
    if schedule.too_often:
        raise InvalidParameter(
            "refresh may come every hour at most: 'PT1H', or one minute of each hour as in '5 * * * *';"
            " on_append follows new rows at once",
            parameter="refresh",
        )


def _check_deliveries(deliveries: tuple[Delivery, ...], targets: Collection[str]) -> None:
    if not deliveries or len(set(deliveries)) < len(deliveries):
        raise InvalidParameter("deliveries must name one or more ways once", parameter="deliveries")
    for one in deliveries:
        if (one.channel is Channel.PUSH) != (one.target is not None):
            raise InvalidParameter(
                "a push names its target, other ways name none", parameter="deliveries"
            )
        if one.target is not None and one.target not in targets:
            raise InvalidParameter(
                f"the operator has allowed no target {one.target!r}", parameter="deliveries"
            )


def _offered(
    connection: Connection, context: RequestContext, item: DraftItem
) -> tuple[Dataset, float]:
    dataset = owned(connection, context, item.dataset)
    level = levels.one(connection, item.dataset, item.level)
    if level is None:
        raise InvalidParameter(
            f"the data set has no level {item.level!r}; PUT it first", parameter="level"
        )
    return dataset, level.noise_variance


def _asked_for(
    connection: Connection, item: DraftItem, known: Agreement | None
) -> tuple[Dataset, float]:
    agreed = {(one.dataset, one.level) for one in known.terms.items} if known else set()
    in_terms = (item.dataset, item.level) in agreed
    dataset = datasets.one(connection, item.dataset)
    if dataset is None or not (dataset.listed or in_terms):
        raise Hidden(f"there is no data set {item.dataset!r} for this principal")
    level = levels.one(connection, item.dataset, item.level)
    if level is None or not (level.offered or in_terms):
        # A level that is kept for others and one that nobody defined look the same.
        raise InvalidParameter(
            f"level {item.level!r} of the data set is not offered; the catalogue lists those that are",
            parameter="level",
        )
    return dataset, level.noise_variance
