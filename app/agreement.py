"""Agreements, their deliveries and their transfers as frozen values.

The states are those of the Dataspace Protocol (2025-1). The table below has the messages of a negotiation: who may send
which in which state, and the state it leads to. One line is our own: either side can end a finalized agreement.
Transfers: `service/sharing/dataspace/transfer_state.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

ON_APPEND, ONCE = "on_append", "once"
"""Values of `Terms.refresh`; any other is a schedule: `P1D`, `0 6 * * MON`."""


class State(StrEnum):
    """State of a contract negotiation."""

    REQUESTED = "REQUESTED"
    OFFERED = "OFFERED"
    ACCEPTED = "ACCEPTED"
    AGREED = "AGREED"
    VERIFIED = "VERIFIED"
    FINALIZED = "FINALIZED"
    TERMINATED = "TERMINATED"


class TransferState(StrEnum):
    """State of a transfer process."""

    REQUESTED = "REQUESTED"
    STARTED = "STARTED"
    SUSPENDED = "SUSPENDED"
    COMPLETED = "COMPLETED"
    TERMINATED = "TERMINATED"


class Party(StrEnum):
    """Side of an agreement: the provider has the data, the consumer is to have a copy."""

    PROVIDER = "provider"
    CONSUMER = "consumer"


class Channel(StrEnum):
    """Delivery channel of an agreed copy."""

    PULL = "pull"
    DELTA = "delta"
    PUSH = "push"


class DeliveryState(StrEnum):
    """State of a delivery; the last three are final."""

    PLANNED = "planned"
    DELIVERED = "delivered"
    FAILED = "failed"
    ENDED = "ended"


@dataclass(frozen=True)
class Item:
    """Shared part of one data set.

    where:
        noise_variance  of the level when the terms were written: the level keeps it while they hold
        columns         None for all released columns
        rows_since      the first shared ordinal
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
    """Agreed way of delivery; `target` is a name from CORNERWAVE_DELIVERY_TARGETS, for pushing."""

    channel: Channel
    target: str | None = None


@dataclass(frozen=True)
class Terms:
    """Terms of an agreement.

    where:
        text       the contract in words; signatures and logs hold its SHA-256
        ends_at    None for no end
        renews     at the end it continues for the same term, until one side terminates it
        refresh    `once`, `on_append`, an ISO 8601 interval or a cron line
        traceable  the recipient's copy differs from all others and can be traced
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
    """Terms between a provider and a consumer, with their state.

    where:
        version                 rises with every change, for optimistic concurrency
        rule                    the owner's rule by which it was agreed without a person, if any
        log_sequence, log_hash  the newest entry of its log
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
    """Entry of an agreement's log, chained to the previous one by hash."""

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
    """Rule by which requests are agreed without a person.

    where:
        recipients     None for every recipient
        purposes       None for every purpose; else compared literally
        least_privacy  of every requested item
        longest_days   from start to end; a request that renews or has no end fits no rule
    """

    id: str
    owner: str
    dataset: str | None
    recipients: tuple[str, ...] | None
    purposes: tuple[str, ...] | None
    least_privacy: float
    longest_days: int
    created_at: datetime


@dataclass(frozen=True)
class PlannedDelivery:
    """Delivery of one item.

    where:
        target  name of the target, for pushing; else empty
        cause   `once`, `rows:<count>` or `due:<moment>`: one cause is delivered once
        state   `ended` when the agreement ended before the delivery
    """

    id: str
    agreement: str
    position: int
    channel: Channel
    target: str
    cause: str
    created_at: datetime
    state: DeliveryState = DeliveryState.PLANNED
    copy: str | None = None
    rows: int | None = None
    checksum: str | None = None
    problem: str | None = None
    delivered_at: datetime | None = None


@dataclass(frozen=True, repr=False)
class Transfer:
    """Transfer process of the Dataspace Protocol under an agreement.

    where:
        target        name of the target of a push; None for a pull
        base          our own address as the consumer knows it
        key           public id of the key with which the consumer pulls
        address       sealed data address, with the key in it
        suspended_by  the consumer cannot resume what the provider suspended
    """

    id: str
    agreement: str
    consumer: str
    consumer_pid: str
    state: TransferState
    format: str
    target: str | None
    callback: str
    base: str
    created_at: datetime
    changed_at: datetime
    copy: str | None = None
    key: str | None = None
    address: bytes | None = None
    suspended_by: Party | None = None


def term_end(terms: Terms, now: datetime) -> datetime | None:
    """Return the end of the term at `now`, or of the last one; None without an end."""
    if terms.ends_at is None or not terms.renews or now < terms.ends_at:
        return terms.ends_at
    length = terms.ends_at - terms.starts_at
    return terms.ends_at + length * ((now - terms.ends_at) // length + 1)


def is_in_force(agreement: Agreement, now: datetime) -> bool:
    """Return whether the agreement gives rights at `now`."""
    terms = agreement.terms
    ended = terms.ends_at is not None and not terms.renews and now >= terms.ends_at
    return agreement.state is State.FINALIZED and terms.starts_at <= now and not ended


def length(terms: Terms) -> timedelta | None:
    """Return how long the terms hold; None when only a termination ends them."""
    return None if terms.ends_at is None or terms.renews else terms.ends_at - terms.starts_at


class Message(StrEnum):
    """Message of a party; the Dataspace Protocol's message is named beside it."""

    REQUEST = "request"  # ContractRequestMessage
    OFFER = "offer"  # ContractOfferMessage
    ACCEPT = "accept"  # ContractNegotiationEventMessage: ACCEPTED
    AGREE = "agree"  # ContractAgreementMessage
    VERIFY = "verify"  # ContractAgreementVerificationMessage
    FINALIZE = "finalize"  # ContractNegotiationEventMessage: FINALIZED
    TERMINATE = "terminate"  # ContractNegotiationTerminationMessage


_P, _C = Party.PROVIDER, Party.CONSUMER

TRANSITIONS: Mapping[tuple[State | None, Party, Message], State] = MappingProxyType(
    {
        (None, _C, Message.REQUEST): State.REQUESTED,
        (None, _P, Message.OFFER): State.OFFERED,
        (State.REQUESTED, _P, Message.OFFER): State.OFFERED,
        (State.REQUESTED, _P, Message.AGREE): State.AGREED,
        (State.REQUESTED, _P, Message.TERMINATE): State.TERMINATED,
        (State.REQUESTED, _C, Message.TERMINATE): State.TERMINATED,
        (State.OFFERED, _C, Message.REQUEST): State.REQUESTED,
        (State.OFFERED, _C, Message.ACCEPT): State.ACCEPTED,
        (State.OFFERED, _P, Message.TERMINATE): State.TERMINATED,
        (State.OFFERED, _C, Message.TERMINATE): State.TERMINATED,
        (State.ACCEPTED, _P, Message.AGREE): State.AGREED,
        (State.ACCEPTED, _P, Message.TERMINATE): State.TERMINATED,
        (State.AGREED, _C, Message.VERIFY): State.VERIFIED,
        (State.AGREED, _C, Message.TERMINATE): State.TERMINATED,
        (State.VERIFIED, _P, Message.FINALIZE): State.FINALIZED,
        (State.VERIFIED, _P, Message.TERMINATE): State.TERMINATED,
        # Ours: the negotiation is over, the agreement is not.
        (State.FINALIZED, _P, Message.TERMINATE): State.TERMINATED,
        (State.FINALIZED, _C, Message.TERMINATE): State.TERMINATED,
    }
)
"""(state, sender, message) → next state; None is the state before the first message."""


def state_after(state: State | None, sender: Party, message: Message) -> State | None:
    """The state that a message of this sender leads to; None when it may not send it now."""
    return TRANSITIONS.get((state, sender, message))


def messages_open_to(state: State | None, sender: Party) -> tuple[Message, ...]:
    """Return the messages that this party may send now."""
    return tuple(said for (now, who, said) in TRANSITIONS if (now, who) == (state, sender))
