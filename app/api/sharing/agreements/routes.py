"""/v1/agreements: negotiate, deliver, read log and record; and the public keys that verify records."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from app.agreement import Message, State
from app.api.delta.protocol import PREFIX
from app.api.sharing.agreements.schemas import (
    AgreementForm,
    AgreementList,
    AgreementLogView,
    AgreementView,
    DeliveryList,
    MessageForm,
    ProfileView,
    ProposalForm,
    TerminationForm,
)
from app.api.transport.dependencies import ContextDep, ResourcesDep, base_of
from app.api.transport.endpoints.route import Route
from app.api.transport.paging import PageDep
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.agreements import lookup, negotiation, record
from app.service.sharing.delta import shares

RECORD: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Canonical JSON: the agreement, and a detached JWS over it.",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["agreement", "signature"],
                    "properties": {
                        "agreement": {"type": "object"},
                        "signature": {"type": "string"},
                    },
                }
            }
        },
    }
}
POLICY: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "An ODRL agreement.",
        "content": {"application/ld+json": {"schema": {"type": "object"}}},
    }
}

router = APIRouter(prefix="/v1/agreements", tags=["agreements"], route_class=Route)


@router.post("", status_code=201)
def open_agreement(
    form: AgreementForm, resources: ResourcesDep, context: ContextDep
) -> AgreementView:
    """Offer an agreement as an owner, or request one as a recipient."""
    made = negotiation.open_agreement(resources, context, form.draft(), form.recipient)
    return AgreementView.of(made, context)


@router.get("")
def list_agreements(
    resources: ResourcesDep,
    context: ContextDep,
    page: PageDep,
    state: Annotated[State | None, Query(description="Only those in this state.")] = None,
) -> AgreementList:
    """List the principal's agreements; administrators and auditors see all."""
    found, cursor = page.of(lookup.list_agreements, resources, context, state=state)
    views = [AgreementView.of(one, context) for one in found]
    return AgreementList(agreements=views, next_cursor=cursor)


@router.get("/{agreement_id}")
def show_agreement(
    agreement_id: str, resources: ResourcesDep, context: ContextDep
) -> AgreementView:
    """Show an agreement."""
    return AgreementView.of(lookup.show_agreement(resources, context, agreement_id), context)


@router.get("/{agreement_id}/log")
def read_agreement_log(
    agreement_id: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> AgreementLogView:
    """Read an agreement's own log in order; each entry's hash covers the one before it."""
    entries, cursor = page.of(
        lookup.read_agreement_log, resources, context, agreement_id, place="sequence"
    )
    return AgreementLogView(entries=entries, next_cursor=cursor)


@router.get("/{agreement_id}/deliveries")
def list_deliveries(
    agreement_id: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> DeliveryList:
    """List what was or is to be delivered under an agreement, with receipts."""
    found, cursor = page.of(lookup.list_deliveries, resources, context, agreement_id)
    return DeliveryList(deliveries=found, next_cursor=cursor)


@router.get("/{agreement_id}/record", response_class=Response, responses=RECORD)
def read_agreement_record(
    agreement_id: str, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Read the signed document of a finalized agreement; `verify-agreement` checks it offline."""
    content = record.read_record(resources, context, agreement_id)
    named = {"Content-Disposition": f'attachment; filename="{agreement_id}.json"'}
    return Response(content, headers=named, media_type="application/json")


@router.get("/{agreement_id}/policy", response_class=Response, responses=POLICY)
def read_agreement_policy(
    agreement_id: str, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Read the agreement as an ODRL policy (JSON-LD)."""
    policy = record.read_policy(resources, context, agreement_id)
    return Response(orjson.dumps(policy), media_type="application/ld+json")


@router.post("/{agreement_id}/profile", response_model_exclude_none=True)
def give_profile(
    agreement_id: str,
    request: Request,
    response: Response,
    resources: ResourcesDep,
    context: ContextDep,
) -> ProfileView:
    """Make a Delta Sharing profile with a new key for this agreement alone; the key before it ends."""
    profile = shares.give_profile(resources, context, agreement_id)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Disposition"] = f'attachment; filename="{agreement_id}.share"'
    return ProfileView(
        shareCredentialsVersion=1,
        endpoint=f"{base_of(request)}{PREFIX}",
        bearerToken=profile.key,
        expirationTime=profile.expires_at,
    )


@router.post("/{agreement_id}/request")
def request_terms(
    agreement_id: str, form: ProposalForm, resources: ResourcesDep, context: ContextDep
) -> AgreementView:
    """Answer an offer with other terms, as the recipient."""
    return _send(resources, context, agreement_id, Message.REQUEST, form)


@router.post("/{agreement_id}/offer")
def offer_terms(
    agreement_id: str, form: ProposalForm, resources: ResourcesDep, context: ContextDep
) -> AgreementView:
    """Answer a request with an offer, as the provider."""
    return _send(resources, context, agreement_id, Message.OFFER, form)


@router.post("/{agreement_id}/accept")
def accept_offer(
    agreement_id: str, form: MessageForm, resources: ResourcesDep, context: ContextDep
) -> AgreementView:
    """Accept the offer, as the recipient."""
    return _send(resources, context, agreement_id, Message.ACCEPT, form)


@router.post("/{agreement_id}/agree")
def agree_to_terms(
    agreement_id: str, form: MessageForm, resources: ResourcesDep, context: ContextDep
) -> AgreementView:
    """Agree to the request or the accepted offer, as the provider."""
    return _send(resources, context, agreement_id, Message.AGREE, form)


@router.post("/{agreement_id}/verify")
def verify_agreement(
    agreement_id: str, form: MessageForm, resources: ResourcesDep, context: ContextDep
) -> AgreementView:
    """Confirm what was agreed, as the recipient."""
    return _send(resources, context, agreement_id, Message.VERIFY, form)


@router.post("/{agreement_id}/finalize")
def finalize_agreement(
    agreement_id: str, form: MessageForm, resources: ResourcesDep, context: ContextDep
) -> AgreementView:
    """Put the agreement into force, as the provider: rights follow from it from now on."""
    return _send(resources, context, agreement_id, Message.FINALIZE, form)


@router.post("/{agreement_id}/terminate")
def terminate_agreement(
    agreement_id: str, form: TerminationForm, resources: ResourcesDep, context: ContextDep
) -> AgreementView:
    """End the negotiation, or the agreement: its rights end now, and so do downloads in progress."""
    return _send(resources, context, agreement_id, Message.TERMINATE, form)


def _send(
    resources: Resources,
    context: RequestContext,
    agreement_id: str,
    message: Message,
    form: MessageForm,
) -> AgreementView:
    parts = form.parts()
    changed = negotiation.send(resources, context, agreement_id, message, **parts)
    return AgreementView.of(changed, context)


keys_router = APIRouter(tags=["agreements"])


class PublicKeyView(BaseModel):
    """A public key of Ed25519; `kid` is its thumbprint (RFC 7638)."""

    kty: str
    crv: str
    x: str
    kid: str
    use: str
    alg: str


class KeySetView(BaseModel):
    """A JSON Web Key Set: every key that ever signed, the one that signs now last."""

    keys: list[PublicKeyView]


@keys_router.get("/.well-known/cornerwave-keys.json")
def read_signing_keys(response: Response, resources: ResourcesDep) -> KeySetView:
    """Read the public keys of the service; no key is needed for that."""
    response.headers["Cache-Control"] = "public, max-age=300"
    return KeySetView.model_validate(record.public_keys(resources))
