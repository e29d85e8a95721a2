"""Use cases of transfers: request, show, list, suspend, resume, complete, terminate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from app.agreement import Agreement, State, Transfer, TransferState
from app.errors import Conflict, Hidden, InvalidParameter, InvalidState, NotFound
from app.model import Role
from app.service.context import RequestContext, new_id
from app.service.resources import Resources
from app.service.sharing.agreements.lookup import acting_party, known_agreement, locked_agreement
from app.service.sharing.dataspace.callbacks import checked_callback
from app.service.sharing.dataspace.catalog import PULL, PUSH, SHARE
from app.service.sharing.dataspace.negotiations import require_participant
from app.service.sharing.dataspace.transfer_state import TransferMessage, change, enqueue_transfer
from app.service.sharing.dataspace.vocabulary import AGREEMENT, TRANSFER, own
from app.service.unit_of_work import unit_of_work
from app.store.database import chained_logs
from app.store.database.engine import moment, reading
from app.store.database.sharing import agreements, dataspace, transfers

LONGEST_REASON = 2_000


@dataclass(frozen=True)
class TransferOrder:
    """Request of a consumer."""

    consumer_pid: str
    agreement: str
    format: str
    callback: str
    address: Mapping[str, Any] | None


def request_transfer(
    resources: Resources, context: RequestContext, wanted: TransferOrder, base: str
) -> Transfer:
    """Request the data of an agreement; the same request again returns the transfer that it made."""
    require_participant(resources, context)
    callback = checked_callback(resources, wanted.callback)
    target = _target(resources, wanted)
    found = _requested_before(resources, context, wanted, callback)
    if found is not None:
        return found
    try:
        with unit_of_work(resources, context) as uow:
            connection, now = uow.connection, moment(uow.connection)
            transfer = Transfer(
                id=new_id("tp"),
                agreement=_finalized(connection, context, wanted.agreement).id,
                consumer=context.principal.id,
                consumer_pid=wanted.consumer_pid,
                state=TransferState.REQUESTED,
                format=wanted.format,
                target=target,
                callback=callback,
                base=base,
                created_at=now,
                changed_at=now,
            )
            transfers.add(connection, transfer)
            chained_logs.append_agreement(
                connection,
                transfer.agreement,
                "transfer-request",
                {"transfer": transfer.id, "format": wanted.format, "target": target},
                principal=context.principal.id,
            )
            enqueue_transfer(resources, connection, transfer.id)
            uow.record("transfer.request", transfer.id, agreement=transfer.agreement)
    except Conflict:
        # The same request, sent at the same time, may have come first.
        found = _requested_before(resources, context, wanted, callback)
        if found is None:
            raise
        return found
    return transfer


def send_as_consumer(
    resources: Resources,
    context: RequestContext,
    provider_pid: str,
    consumer_pid: str,
    message: TransferMessage,
    reason: str | None = None,
) -> None:
    """Send a message of the protocol about a transfer of the principal."""
    with reading(resources.engine) as connection:
        transfer = _own(connection, context, provider_pid)
    if transfer.consumer_pid != consumer_pid:
        raise InvalidParameter(
            "The consumerPid is not that of this transfer.", parameter="consumerPid"
        )
    send_message(resources, context, transfer.id, message, reason)


def send_message(
    resources: Resources,
    context: RequestContext,
    transfer_id: str,
    message: TransferMessage,
    reason: str | None = None,
) -> Transfer:
    """Suspend, resume, complete or terminate a transfer, as a party of its agreement."""
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        transfer = _known(connection, context, transfer_id)
        agreement = locked_agreement(connection, context, transfer.agreement)
        transfers.lock(connection, transfer_id)
        transfer = _known(connection, context, transfer_id)
        party = acting_party(context, agreement)
        if message is TransferMessage.START and transfer.state is TransferState.REQUESTED:
            raise InvalidState(
                "The transfer starts by itself once its agreement is in force.",
                state=transfer.state.value,
            )
        reason = None if reason is None else reason[:LONGEST_REASON]
        sender = context.principal.id
        transfer = change(
            resources, connection, transfer, party, message, principal=sender, reason=reason
        )
        uow.record(
            f"transfer.{message.value}",
            transfer_id,
            agreement=transfer.agreement,
            state=transfer.state.value,
            party=party.value,
        )
    return transfer


def show_own(resources: Resources, context: RequestContext, provider_pid: str) -> Transfer:
    """Return a transfer by its id in the data space, to its consumer."""
    with reading(resources.engine) as connection:
        return _own(connection, context, provider_pid)


def show_transfer(resources: Resources, context: RequestContext, transfer_id: str) -> Transfer:
    """Return a transfer to the parties of its agreement, administrators and auditors."""
    with reading(resources.engine) as connection:
        return _known(connection, context, transfer_id)


def list_transfers(
    resources: Resources, context: RequestContext, *, after: str, limit: int
) -> list[Transfer]:
    """Return transfers by id: the principal's own on either side, or all for administrators and auditors."""
    everything = context.principal.role in (Role.ADMIN, Role.AUDITOR)
    party = None if everything else context.principal.id
    with reading(resources.engine) as connection:
        return transfers.page(connection, after=after, limit=limit, party=party)


def _target(resources: Resources, wanted: TransferOrder) -> str | None:
    """Return the target of a push, None for a pull; InvalidParameter for other formats."""
    if wanted.format in (PULL, SHARE):
        if wanted.address is not None:
            raise InvalidParameter("A pull has no dataAddress.", parameter="dataAddress")
        return None
    if wanted.format != PUSH:
        raise InvalidParameter(f"The formats are {PULL}, {SHARE} and {PUSH}.", parameter="format")
    target = None if wanted.address is None else wanted.address.get("endpoint")
    if target not in resources.outside.targets:
        raise InvalidParameter(
            "The endpoint of a push is the name of a target that whoever runs the service allowed.",
            parameter="dataAddress",
        )
    return str(target)


def _requested_before(
    resources: Resources, context: RequestContext, wanted: TransferOrder, callback: str
) -> Transfer | None:
    with reading(resources.engine) as connection:
        found = transfers.of_consumer(connection, context.principal.id, wanted.consumer_pid)
    if found is None:
        return None
    same = (AGREEMENT + found.agreement, found.format, found.callback)
    if same != (wanted.agreement, wanted.format, callback):
        raise Conflict("This consumerPid is that of another transfer.")
    return found


def _finalized(connection: Connection, context: RequestContext, urn: str) -> Agreement:
    """Lock and return the principal's finalized agreement."""
    agreement_id = own(AGREEMENT, urn)
    agreements.lock(connection, agreement_id)
    agreement = agreements.one(connection, agreement_id)
    negotiated = dataspace.of_agreement(connection, agreement_id)
    if agreement is None or negotiated is None or agreement.consumer != context.principal.id:
        raise Hidden("There is no such agreement for this principal.")
    if agreement.state is not State.FINALIZED:
        raise InvalidState(
            "Data are transferred under agreements that are finalized and were not ended.",
            state=agreement.state.value,
        )
    return agreement


def _own(connection: Connection, context: RequestContext, provider_pid: str) -> Transfer:
    transfer = transfers.one(connection, own(TRANSFER, provider_pid))
    if transfer is None or transfer.consumer != context.principal.id:
        raise Hidden("There is no such transfer for this principal.")
    return transfer


def _known(connection: Connection, context: RequestContext, transfer_id: str) -> Transfer:
    transfer = transfers.one(connection, transfer_id)
    absent = f"there is no transfer {transfer_id!r} for this principal"
    if transfer is None:
        overseer = context.principal.role in (Role.ADMIN, Role.AUDITOR)
        raise (NotFound if overseer else Hidden)(absent)
    try:
        known_agreement(connection, context, transfer.agreement)
    except NotFound as hidden:
        raise type(hidden)(absent) from None
    return transfer
