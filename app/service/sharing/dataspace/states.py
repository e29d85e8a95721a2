"""Who may say what of a transfer in which state: the protocol's table and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from app.agreement import Party, TransferState


class Message(StrEnum):
    """What a party can say of a transfer; the protocol's message is named beside it."""

    REQUEST = "request"  # TransferRequestMessage
    START = "start"  # TransferStartMessage
    SUSPEND = "suspension"  # TransferSuspensionMessage
    COMPLETE = "completion"  # TransferCompletionMessage
    TERMINATE = "termination"  # TransferTerminationMessage


_P, _C = Party.PROVIDER, Party.CONSUMER
_S = TransferState

TRANSITIONS: Mapping[tuple[TransferState | None, Party, Message], TransferState] = MappingProxyType(
    {
        (None, _C, Message.REQUEST): _S.REQUESTED,
        (_S.REQUESTED, _P, Message.START): _S.STARTED,
        (_S.REQUESTED, _P, Message.TERMINATE): _S.TERMINATED,
        (_S.REQUESTED, _C, Message.TERMINATE): _S.TERMINATED,
        (_S.STARTED, _P, Message.SUSPEND): _S.SUSPENDED,
        (_S.STARTED, _C, Message.SUSPEND): _S.SUSPENDED,
        (_S.STARTED, _P, Message.COMPLETE): _S.COMPLETED,
        (_S.STARTED, _C, Message.COMPLETE): _S.COMPLETED,
        (_S.STARTED, _P, Message.TERMINATE): _S.TERMINATED,
        (_S.STARTED, _C, Message.TERMINATE): _S.TERMINATED,
        (_S.SUSPENDED, _P, Message.START): _S.STARTED,
        (_S.SUSPENDED, _C, Message.START): _S.STARTED,
        (_S.SUSPENDED, _P, Message.TERMINATE): _S.TERMINATED,
        (_S.SUSPENDED, _C, Message.TERMINATE): _S.TERMINATED,
    }
)
"""(state, sender, message) → next state; None is the state before the first message."""

OVER = (_S.COMPLETED, _S.TERMINATED)
