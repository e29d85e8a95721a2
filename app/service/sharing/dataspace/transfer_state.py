"""State of a transfer: the protocol's transitions, and what belongs to one (key, log entry, callback).

A key is valid while its transfer is STARTED (`authentication.is_running`), and revoked when the transfer is
final.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import orjson
from sqlalchemy import Connection

from app.agreement import Party, Transfer, TransferState
from app.errors import InvalidState
from app.service.jobs.enqueue import enqueue
from app.service.resources import Resources
from app.service.sharing.dataspace.callbacks import Process, call_back
from app.service.sharing.dataspace.vocabulary import TRANSFER, message
from app.store.database import chained_logs
from app.store.database.chained_logs import SERVICE, Fact
from app.store.database.engine import moment
from app.store.database.sharing import principals, transfers

TRANSFER_JOB_KIND = "dataspace-transfer"


class TransferMessage(StrEnum):
    """TransferMessage about a transfer; the protocol's name stands beside it."""

    REQUEST = "request"  # TransferRequestMessage
    START = "start"  # TransferStartMessage
    SUSPEND = "suspension"  # TransferSuspensionMessage
    COMPLETE = "completion"  # TransferCompletionMessage
    TERMINATE = "termination"  # TransferTerminationMessage


_P, _C = Party.PROVIDER, Party.CONSUMER
_S = TransferState

TRANSITIONS: Mapping[tuple[TransferState | None, Party, TransferMessage], TransferState] = (
    MappingProxyType(
        {
            (None, _C, TransferMessage.REQUEST): _S.REQUESTED,
            (_S.REQUESTED, _P, TransferMessage.START): _S.STARTED,
            (_S.REQUESTED, _P, TransferMessage.TERMINATE): _S.TERMINATED,
            (_S.REQUESTED, _C, TransferMessage.TERMINATE): _S.TERMINATED,
            (_S.STARTED, _P, TransferMessage.SUSPEND): _S.SUSPENDED,
            (_S.STARTED, _C, TransferMessage.SUSPEND): _S.SUSPENDED,
            (_S.STARTED, _P, TransferMessage.COMPLETE): _S.COMPLETED,
            (_S.STARTED, _C, TransferMessage.COMPLETE): _S.COMPLETED,
            (_S.STARTED, _P, TransferMessage.TERMINATE): _S.TERMINATED,
            (_S.STARTED, _C, TransferMessage.TERMINATE): _S.TERMINATED,
            (_S.SUSPENDED, _P, TransferMessage.START): _S.STARTED,
            (_S.SUSPENDED, _C, TransferMessage.START): _S.STARTED,
            (_S.SUSPENDED, _P, TransferMessage.TERMINATE): _S.TERMINATED,
            (_S.SUSPENDED, _C, TransferMessage.TERMINATE): _S.TERMINATED,
        }
    )
)
"""(state, sender, message) → next state; None is the state before the first message."""

FINAL = (_S.COMPLETED, _S.TERMINATED)

MESSAGES = {
    TransferMessage.START: "TransferStartMessage",
    TransferMessage.SUSPEND: "TransferSuspensionMessage",
    TransferMessage.COMPLETE: "TransferCompletionMessage",
    TransferMessage.TERMINATE: "TransferTerminationMessage",
}


def state_after(transfer: Transfer, party: Party, kind: TransferMessage) -> TransferState:
    """Return the state that a message leads to; InvalidState where the protocol does not allow it."""
    state = TRANSITIONS.get((transfer.state, party, kind))
    if state is None:
        raise InvalidState(
            f"The {party} cannot send a {kind.value} while the transfer is {transfer.state}.",
            state=transfer.state.value,
        )
    if kind is TransferMessage.START and party is Party.CONSUMER and transfer.suspended_by != party:
        raise InvalidState(
            "The provider has suspended this transfer, and it alone can resume it.",
            state=transfer.state.value,
        )
    return state


def change(
    resources: Resources,
    connection: Connection,
    transfer: Transfer,
    party: Party,
    kind: TransferMessage,
    *,
    principal: str = SERVICE,
    code: str | None = None,
    reason: str | None = None,
    facts: Mapping[str, Fact] | None = None,
) -> Transfer:
    """Store and return a transfer after a message; agreement and transfer are locked."""
    state, now = state_after(transfer, party, kind), moment(connection)
    changed = replace(
        transfer,
        state=state,
        changed_at=now,
        suspended_by=party if state is TransferState.SUSPENDED else None,
    )
    if state in FINAL:
        if transfer.key is not None:
            principals.revoke_keys(connection, transfer.consumer, now, only=transfer.key)
        changed = replace(changed, address=None)
    transfers.change(connection, changed)
    entry: dict[str, Fact] = {"transfer": transfer.id, "state": state.value, **(facts or {})}
    if reason is not None:
        entry["reason"] = reason
    event = f"transfer-{kind.value}"
    chained_logs.append_agreement(connection, transfer.agreement, event, entry, principal=principal)
    if party is Party.PROVIDER:
        body = message(
            MESSAGES[kind],
            providerPid=TRANSFER + transfer.id,
            consumerPid=transfer.consumer_pid,
            dataAddress=_address(resources, changed) if kind is TransferMessage.START else None,
            code=code,
            reason=None if reason is None else [reason],
        )
        process = Process(
            transfer.id,
            transfer.agreement,
            transfer.consumer,
            transfer.callback,
            "transfers",
            transfer.consumer_pid,
        )
        call_back(resources, connection, process, kind.value, body)
    if kind is TransferMessage.START and transfer.target is not None:
        enqueue_transfer(resources, connection, transfer.id)
    return changed


def enqueue_transfer(
    resources: Resources, connection: Connection, transfer_id: str, run_at: datetime | None = None
) -> None:
    """Enqueue the job that starts or pushes a transfer."""
    enqueue(
        connection,
        resources,
        kind=TRANSFER_JOB_KIND,
        subject=transfer_id,
        payload={},
        principal=None,
        run_at=run_at,
    )


def seal_address(resources: Resources, transfer_id: str, address: dict[str, Any]) -> bytes:
    """Seal a data address, which has a key in it."""
    return resources.vault.seal(orjson.dumps(address), f"transfer:{transfer_id}")


def _address(resources: Resources, transfer: Transfer) -> dict[str, Any] | None:
    if transfer.address is None:
        return None
    opened: dict[str, Any] = orjson.loads(
        resources.vault.open(transfer.address, f"transfer:{transfer.id}")
    )
    return opened
