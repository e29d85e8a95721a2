"""Contract negotiation endpoints of the Dataspace Protocol, provider side."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.agreement import Message
from app.api.dsp.answers import answer
from app.api.dsp.schemas import (
    AgreementVerification,
    ContractRequest,
    NegotiationEvent,
    NegotiationTermination,
    ProcessMessage,
)
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.endpoints.route import Route
from app.errors import InvalidParameter, InvalidState
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.dataspace import negotiations
from app.service.sharing.dataspace.negotiations import ContractNegotiation
from app.service.sharing.dataspace.vocabulary import PATH, message

router = APIRouter(prefix=f"{PATH}/negotiations", route_class=Route, include_in_schema=False)


@router.post("/request")
def request_negotiation(
    form: ContractRequest, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Open a negotiation by asking for an offer of the catalogue."""
    if form.callback_address is None:
        raise InvalidParameter(
            "The first request names a callbackAddress.", parameter="callbackAddress"
        )
    found = negotiations.request_negotiation(
        resources, context, form.consumer_pid, form.policy(), form.callback_address
    )
    return answer(_body(found), 201)


@router.get("/{provider_pid}")
def show_negotiation(provider_pid: str, resources: ResourcesDep, context: ContextDep) -> Response:
    """Show the state of a negotiation."""
    return _now(resources, context, provider_pid)


@router.post("/{provider_pid}/request")
def counter_offer(
    provider_pid: str, form: ContractRequest, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Answer an offer with other terms."""
    require_same(provider_pid, form.provider_pid)
    negotiations.counter(resources, context, provider_pid, form.consumer_pid, form.policy())
    return _now(resources, context, provider_pid)


@router.post("/{provider_pid}/events")
def accept_offer_in_dataspace(
    provider_pid: str, form: NegotiationEvent, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Accept the provider's offer."""
    if form.event_type != "ACCEPTED":
        require_same(provider_pid, form.provider_pid)
        negotiations.show_negotiation(resources, context, provider_pid)
        raise InvalidState("A consumer accepts; it is the provider who finalizes.")
    return _send(resources, context, provider_pid, form, Message.ACCEPT)


@router.post("/{provider_pid}/agreement/verification")
def verify_in_dataspace(
    provider_pid: str, form: AgreementVerification, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Confirm what was agreed."""
    return _send(resources, context, provider_pid, form, Message.VERIFY)


@router.post("/{provider_pid}/termination")
def terminate_in_dataspace(
    provider_pid: str, form: NegotiationTermination, resources: ResourcesDep, context: ContextDep
) -> Response:
    """End a negotiation that is not finalized."""
    return _send(resources, context, provider_pid, form, Message.TERMINATE)


def require_same(provider_pid: str, in_message: str | None) -> None:
    """InvalidParameter when a message is about another process than its address."""
    if in_message != provider_pid:
        raise InvalidParameter(
            "The providerPid must be the one of the address.", parameter="providerPid"
        )


def _send(
    resources: Resources,
    context: RequestContext,
    provider_pid: str,
    form: ProcessMessage,
    kind: Message,
) -> Response:
    require_same(provider_pid, form.provider_pid)
    negotiations.send_message(
        resources, context, provider_pid, form.consumer_pid, kind, form.reason_text()
    )
    return _now(resources, context, provider_pid)


def _now(resources: Resources, context: RequestContext, provider_pid: str) -> Response:
    return answer(_body(negotiations.show_negotiation(resources, context, provider_pid)))


def _body(negotiation: ContractNegotiation) -> dict[str, object]:
    return message(
        "ContractNegotiation",
        providerPid=negotiation.provider_pid,
        consumerPid=negotiation.consumer_pid,
        state=negotiation.state.value,
    )
