"""An agreement as a frozen value: who gives what to whom, for what, until when, and how far it is.

The states are those of the Dataspace Protocol (2025-1, contract negotiation); which message leads
from which state to which is in `service/sharing/agreements/states.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

ON_APPEND, ONCE = "on_append", "once"
"""When the agreed copies are delivered again; anything else is a schedule: `P1D`, `0 6 * * MON`."""


class State(StrEnum):
    """How far a negotiation has come."""

    REQUESTED = "REQUESTED"
    OFFERED = "OFFERED"
    ACCEPTED = "ACCEPTED"
    AGREED = "AGREED"
    VERIFIED = "VERIFIED"
    FINALIZED = "FINALIZED"
    TERMINATED = "TERMINATED"


class TransferState(StrEnum):
    """How far a transfer under an agreement has come (Dataspace Protocol, transfer process)."""

    REQUESTED = "REQUESTED"
    STARTED = "STARTED"
    SUSPENDED = "SUSPENDED"
    COMPLETED = "COMPLETED"
    TERMINATED = "TERMINATED"


class Party(StrEnum):
    """The two sides: who has the data, and who is to have a copy."""

    PROVIDER = "provider"
    CONSUMER = "consumer"


class Channel(StrEnum):
    """How an agreed copy reaches its recipient."""

    PULL = "pull"
    DELTA = "delta"
    PUSH = "push"


@dataclass(frozen=True)
class Item:
    """What of one data set is shared.

    where:
        noise_variance  of the level when the terms were written: the level keeps it while they hold
        columns         None for all that are released
        rows_since      the first ordinal that is shared
    """

    dataset: str
    level: str
    noise_variance: float
    columns: tuple[str, ...] | None = None
    rows_since: int = 0

    @property
    def privacy(self) -> float:
        return self.noise_variance / (1.0 + self.noise_variance)


@dataclass(frozen=True)
class Delivery:
    """One way of delivering; `target` names a place that the operator allowed, for pushing."""

    channel: Channel
    target: str | None = None


@dataclass(frozen=True)
class Terms:
    """What the two sides agree on.

    where:
        text       the terms in words, known in signatures and logs by their SHA-256
        ends_at    None for no end
        renews     at the end it runs on for as long again, until somebody terminates it
        refresh    `once`, `on_append`, or a pause in ISO 8601
        traceable  whether the recipient's copy is drawn so that it can be told from all others
    """

    items: tuple[Item, ...]
    purpose: str
    legal_basis: str
    text: str
    text_sha256: str
    starts_at: datetime
    ends_at: datetime | None
    renews: bool
    refresh: str
    deliveries: tuple[Delivery, ...]
    traceable: bool


@dataclass(frozen=True)
class Agreement:
    """Terms between a provider and a consumer, and how far they are from holding.

    where:
        version        counts changes: who acts on another one than it saw is told so
        rule           the owner's rule by which it was agreed without a person, if one was
        log_sequence, log_hash  the newest entry of its own log
    """

    id: str
    provider: str
    consumer: str
    state: State
    version: int
    terms: Terms
    rule: str | None
    created_at: datetime
    changed_at: datetime
    finalized_at: datetime | None = None
    terminated_at: datetime | None = None
    log_sequence: int = 0
    log_hash: str = "0" * 64


@dataclass(frozen=True)
class AgreementEntry:
    """One line of an agreement's own log, chained to the one before it by hash."""

    agreement: str
    sequence: int
    at: datetime
    principal: str
    party: Party | None
    event: str
    state: State
    facts: Mapping[str, str | int | float | bool | None]
    previous_hash: str
    hash: str


@dataclass(frozen=True)
class Rule:
    """What an owner agrees to without being asked: who, what for, how private, how long.

    where:
        recipients     None for everyone who can ask
        purposes       None for every purpose; else the very words
        least_privacy  of every item asked for
        longest_days   from start to end; a request without an end, or one that renews, is longer
    """

    id: str
    owner: str
    dataset: str | None
    recipients: tuple[str, ...] | None
    purposes: tuple[str, ...] | None
    least_privacy: float
    longest_days: int
    created_at: datetime


def term_end(terms: Terms, now: datetime) -> datetime | None:
    """The end of the term that runs at `now`, or of the last one; None without an end."""
    if terms.ends_at is None or not terms.renews or now < terms.ends_at:
        return terms.ends_at
    length = terms.ends_at - terms.starts_at
    return terms.ends_at + length * ((now - terms.ends_at) // length + 1)


def is_in_force(agreement: Agreement, now: datetime) -> bool:
    """Whether the rights that follow from it exist at this moment."""
    terms = agreement.terms
    ended = terms.ends_at is not None and not terms.renews and now >= terms.ends_at
    return agreement.state is State.FINALIZED and terms.starts_at <= now and not ended


def length(terms: Terms) -> timedelta | None:
    """How long the terms hold; None when nothing but a termination ends them."""
    return None if terms.ends_at is None or terms.renews else terms.ends_at - terms.starts_at
