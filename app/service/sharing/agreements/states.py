"""State machine of negotiations as a table: who may send which message in which state.

The table is that of the Dataspace Protocol 2025-1, contract negotiation, with one line of our own:
the protocol ends at FINALIZED, while an agreement that holds can still be ended by either side.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from app.agreement import Party, State


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


def after(state: State | None, sender: Party, message: Message) -> State | None:
    """The state that a message of this sender leads to; None when it may not send it now."""
    return TRANSITIONS.get((state, sender, message))


def open_to(state: State | None, sender: Party) -> tuple[Message, ...]:
    """Return the messages that this party may send now."""
    return tuple(said for (now, who, said) in TRANSITIONS if (now, who) == (state, sender))
