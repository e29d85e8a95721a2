"""A transfer's next state, with all that belongs to it: key, agreement's log, and the message.

A key is good while its transfer is STARTED (`service/authentication.py` looks at every request, and
again in the middle of a download), and is revoked when the transfer is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import Connection

from app.agreement import Agreement, Party, TransferState
from app.errors import WrongState
from app.service.jobs.enqueue import enqueue
from app.service.resources import Resources
from app.service.sharing.dataspace.callbacks import Process, tell
from app.service.sharing.dataspace.states import OVER, TRANSITIONS, Message
from app.service.sharing.dataspace.words import TRANSFER, message
from app.store.database.engine import moment
from app.store.database.sharing import agreement_log, principals, transfers
from app.store.database.sharing.agreement_log import Fact
from app.store.database.sharing.transfers import Transfer

MOVE = "dataspace-transfer"
"""The kind of jobs that start transfers, and push."""

MESSAGES = {
    Message.START: "TransferStartMessage",
    Message.SUSPEND: "TransferSuspensionMessage",
    Message.COMPLETE: "TransferCompletionMessage",
    Message.TERMINATE: "TransferTerminationMessage",
}


def state_after(transfer: Transfer, party: Party, said: Message) -> TransferState:
    """The state that a message leads to; WrongState where the protocol does not have it."""
    state = TRANSITIONS.get((transfer.state, party, said))
    if state is None:
        raise WrongState(
            f"The {party} cannot send a {said.value} while the transfer is {transfer.state}.",
            state=transfer.state.value,
        )
    if said is Message.START and party is Party.CONSUMER and transfer.suspended_by != party:
        raise WrongState(
            "The provider has suspended this transfer, and it alone can resume it.",
            state=transfer.state.value,
        )
    return state


def change(
    resources: Resources,
    connection: Connection,
    agreement: Agreement,
    transfer: Transfer,
    party: Party,
    said: Message,
    *,
    principal: str,
    code: str | None = None,
    reason: str | None = None,
    facts: Mapping[str, Fact] | None = None,
) -> tuple[Agreement, Transfer]:
    """Both after a message, kept; agreement and transfer are locked by whoever calls this."""
    state, now = state_after(transfer, party, said), moment(connection)
    changed = replace(
        transfer,
        state=state,
        changed_at=now,
        suspended_by=party if state is TransferState.SUSPENDED else None,
    )
    if state in OVER:
        if transfer.key is not None:
            principals.revoke_keys(connection, transfer.consumer, now, only=transfer.key)
        changed = replace(changed, address=None)
    transfers.change(connection, changed)
    told: dict[str, Fact] = {"transfer": transfer.id, "state": state.value, **(facts or {})}
    if reason is not None:
        told["reason"] = reason
    agreement = agreement_log.note(
        connection,
        agreement,
        at=max(now, agreement.changed_at),
        principal=principal,
        event=f"transfer-{said.value}",
        facts=told,
    )
    if party is Party.PROVIDER:
        body = message(
            MESSAGES[said],
            providerPid=TRANSFER + transfer.id,
            consumerPid=transfer.consumer_pid,
            dataAddress=_address(resources, changed) if said is Message.START else None,
            code=code,
            reason=None if reason is None else [reason],
        )
        tell(resources, connection, process_of(transfer), said.value, body)
    if said is Message.START and transfer.target is not None:
        move_soon(resources, connection, transfer.id)
    return agreement, changed


def process_of(transfer: Transfer) -> Process:
    """A transfer as its consumer is told of it."""
    place = "transfers", transfer.consumer_pid
    return Process(transfer.id, transfer.agreement, transfer.callback, *place)


def move_soon(resources: Resources, connection: Connection, transfer_id: str, **when: Any) -> None:
    """Have a transfer started, or pushed, once this transaction is committed."""
    enqueue(
        connection,
        resources,
        kind=MOVE,
        subject=transfer_id,
        payload={},
        principal=None,
        **when,
    )


def seal_address(resources: Resources, transfer_id: str, address: dict[str, Any]) -> bytes:
    """Where the data are and the key to them, as they are kept while the transfer lives."""
    return resources.vault.seal(orjson.dumps(address), f"transfer:{transfer_id}")


def _address(resources: Resources, transfer: Transfer) -> dict[str, Any] | None:
    if transfer.address is None:
        return None
    opened: dict[str, Any] = orjson.loads(
        resources.vault.open(transfer.address, f"transfer:{transfer.id}")
    )
    return opened
