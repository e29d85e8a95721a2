"""/v1/transfers: show, suspend, resume and end transfers of data spaces."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.agreement import Party, TransferState
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.endpoints.route import Route
from app.api.transport.forms import Form, View
from app.api.transport.paging import PageDep
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.dataspace import transfers
from app.service.sharing.dataspace.transfer_state import TransferMessage

router = APIRouter(prefix="/v1/transfers", tags=["agreements"], route_class=Route)


class TransferForm(Form):
    """Why, in words that the consumer is told."""

    reason: str | None = Field(None, max_length=2_000)


class TransferView(View):
    """A transfer under an agreement; `suspended_by` tells which side stopped it."""

    id: str
    agreement: str
    state: TransferState
    format: str
    target: str | None
    suspended_by: Party | None
    created_at: datetime
    changed_at: datetime


class TransferList(BaseModel):
    """A page of transfers."""

    transfers: list[TransferView]
    next_cursor: str | None


@router.get("")
def list_transfers(resources: ResourcesDep, context: ContextDep, page: PageDep) -> TransferList:
    """List transfers of either side; administrators and auditors see all."""
    found, cursor = page.of(transfers.list_transfers, resources, context)
    return TransferList(transfers=[TransferView.of(one) for one in found], next_cursor=cursor)


@router.get("/{transfer_id}")
def show_transfer(transfer_id: str, resources: ResourcesDep, context: ContextDep) -> TransferView:
    """Show a transfer."""
    return TransferView.of(transfers.show_transfer(resources, context, transfer_id))


@router.post("/{transfer_id}/suspend")
def suspend_transfer(
    transfer_id: str, form: TransferForm, resources: ResourcesDep, context: ContextDep
) -> TransferView:
    """Suspend a transfer. Its key opens nothing from now on, and running downloads end."""
    return _send(resources, context, transfer_id, TransferMessage.SUSPEND, form)


@router.post("/{transfer_id}/resume")
def resume_transfer(
    transfer_id: str, form: TransferForm, resources: ResourcesDep, context: ContextDep
) -> TransferView:
    """Resume a suspended transfer with the key that it has."""
    return _send(resources, context, transfer_id, TransferMessage.START, form)


@router.post("/{transfer_id}/complete")
def complete_transfer(
    transfer_id: str, form: TransferForm, resources: ResourcesDep, context: ContextDep
) -> TransferView:
    """Complete a transfer and revoke its key."""
    return _send(resources, context, transfer_id, TransferMessage.COMPLETE, form)


@router.post("/{transfer_id}/terminate")
def terminate_transfer(
    transfer_id: str, form: TransferForm, resources: ResourcesDep, context: ContextDep
) -> TransferView:
    """Terminate a transfer and revoke its key; the agreement stays in force."""
    return _send(resources, context, transfer_id, TransferMessage.TERMINATE, form)


def _send(
    resources: Resources,
    context: RequestContext,
    transfer_id: str,
    message: TransferMessage,
    form: TransferForm,
) -> TransferView:
    sent = transfers.send_message(resources, context, transfer_id, message, form.reason)
    return TransferView.of(sent)
