"""Transfer process endpoints of the Dataspace Protocol, provider side."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.agreement import Transfer
from app.api.dsp.answers import answer
from app.api.dsp.negotiations import require_same
from app.api.dsp.schemas import (
    ProcessMessage,
    TransferCompletion,
    TransferRequest,
    TransferStart,
    TransferSuspension,
    TransferTermination,
)
from app.api.transport.dependencies import ContextDep, ResourcesDep, base_of
from app.api.transport.endpoints.route import Route
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.dataspace import transfers
from app.service.sharing.dataspace.transfer_state import TransferMessage
from app.service.sharing.dataspace.vocabulary import PATH, TRANSFER, message

router = APIRouter(prefix=f"{PATH}/transfers", route_class=Route, include_in_schema=False)


@router.post("/request")
def request_transfer(
    form: TransferRequest, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Ask for the data of an agreement."""
    address = form.data_address
    wanted = transfers.TransferOrder(
        form.consumer_pid,
        form.agreement_id,
        form.format,
        form.callback_address,
        None if address is None else address.model_dump(by_alias=True, exclude_unset=True),
    )
    return answer(
        _body(transfers.request_transfer(resources, context, wanted, base_of(request))), 201
    )


@router.get("/{provider_pid}")
def show_own_transfer(provider_pid: str, resources: ResourcesDep, context: ContextDep) -> Response:
    """Show the state of a transfer."""
    return answer(_body(transfers.show_own(resources, context, provider_pid)))


@router.post("/{provider_pid}/start")
def resume_own_transfer(
    provider_pid: str, form: TransferStart, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Resume a transfer that the consumer itself has suspended."""
    return _send(resources, context, provider_pid, form, TransferMessage.START)


@router.post("/{provider_pid}/completion")
def complete_own_transfer(
    provider_pid: str, form: TransferCompletion, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Complete a transfer, as its consumer."""
    return _send(resources, context, provider_pid, form, TransferMessage.COMPLETE)


@router.post("/{provider_pid}/suspension")
def suspend_own_transfer(
    provider_pid: str, form: TransferSuspension, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Suspend a transfer."""
    return _send(resources, context, provider_pid, form, TransferMessage.SUSPEND)


@router.post("/{provider_pid}/termination")
def terminate_own_transfer(
    provider_pid: str, form: TransferTermination, resources: ResourcesDep, context: ContextDep
) -> Response:
    """End a transfer."""
    return _send(resources, context, provider_pid, form, TransferMessage.TERMINATE)


def _send(
    resources: Resources,
    context: RequestContext,
    provider_pid: str,
    form: ProcessMessage,
    kind: TransferMessage,
) -> Response:
    require_same(provider_pid, form.provider_pid)
    transfers.send_as_consumer(
        resources, context, provider_pid, form.consumer_pid, kind, form.reason_text()
    )
    return answer(_body(transfers.show_own(resources, context, provider_pid)))


def _body(transfer: Transfer) -> dict[str, object]:
    return message(
        "TransferProcess",
        providerPid=TRANSFER + transfer.id,
        consumerPid=transfer.consumer_pid,
        state=transfer.state.value,
    )
