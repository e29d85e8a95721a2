"""Asking for access: what is listed, a request for a level of it, and what became of the request."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.agreement import Agreement, Party, State, is_in_force
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.errors import InvalidParameter
from app.model import Role
from app.portal.owner.offering import end_of, offerable
from app.portal.rendering import PAGES, page
from app.portal.visits import Page
from app.service.sharing import catalogue
from app.service.sharing.agreements import lookup, negotiation, states
from app.service.sharing.agreements.lookup import party_of
from app.service.sharing.agreements.states import Message
from app.service.sharing.agreements.terms import Draft, DraftItem

router = APIRouter(prefix="/portal", route_class=Page, include_in_schema=False)

AT_ONCE = 50

STANDS = {
    State.REQUESTED: ("asked for", "warn", "The owner decides."),
    State.OFFERED: ("offered", "warn", "The analyst decides."),
    State.ACCEPTED: ("accepted", "accent", "The owner confirms the offer."),
    State.AGREED: ("agreed", "accent", "The analyst confirms what was agreed."),
    State.VERIFIED: ("confirmed", "accent", "The owner puts it into force."),
    State.FINALIZED: ("in force", "good", "The copies can be had."),
    State.TERMINATED: ("ended", "", "Nothing follows from it any more."),
}
SAID = {
    Message.ACCEPT: "Accept the offer",
    Message.AGREE: "Agree",
    Message.VERIFY: "Confirm what was agreed",
    Message.FINALIZE: "Put it into force",
    Message.TERMINATE: "End it",
}
"""What a button says."""

PAGES.filters |= {"stands": lambda agreement: STANDS[agreement.state]}


@router.get("/listings/{dataset_id}")
def show_listing(
    dataset_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """A listed data set, and the form that asks for it."""
    listing = catalogue.show_listing(resources, context, dataset_id)
    may_ask = context.principal.role is Role.RECIPIENT
    return page(
        request, "analyst/listing.html", title=listing.name, listing=listing, may_ask=may_ask
    )


@router.post("/listings/{dataset_id}/request")
def ask_for_access(
    dataset_id: str,
    resources: ResourcesDep,
    context: ContextDep,
    level: Annotated[str, Form(max_length=200)] = "",
    purpose: Annotated[str, Form(max_length=2_000)] = "",
    until: Annotated[str, Form(max_length=40)] = "",
) -> Response:
    """Request an agreement for a level of a data set."""
    if not purpose.strip():
        raise InvalidParameter("Say what you need it for.", parameter="purpose")
    draft = Draft((DraftItem(dataset_id, level),), purpose.strip(), ends_at=end_of(until))
    made = negotiation.open_agreement(resources, context, draft, None)
    return RedirectResponse(f"/portal/agreements/{made.id}?done=asked", 303)


@router.get("/agreements")
def list_agreements(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    after: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """One's own agreements, and requests on their way to one."""
    found = lookup.list_agreements(resources, context, after=after, limit=AT_ONCE + 1, state=None)
    shown = found[:AT_ONCE]
    return page(
        request,
        "analyst/agreements.html",
        title="Agreements",
        agreements=shown,
        names=lookup.names_in(resources, shown),
        waiting={one.id for one in shown if _open_to(party_of(context, one), one)},
        more=shown[-1].id if len(found) > AT_ONCE else None,
    )


@router.get("/agreements/{agreement_id}")
def show_agreement(
    agreement_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """An agreement: its terms, what was said, and what may be said now."""
    agreement = lookup.show_agreement(resources, context, agreement_id)
    party = party_of(context, agreement)
    return page(
        request,
        "analyst/agreement.html",
        title="Agreement",
        agreement=agreement,
        names=lookup.names_in(resources, [agreement]),
        entries=lookup.read_agreement_log(resources, context, agreement_id, after=0, limit=200),
        sayable=[(one, SAID[one]) for one in _open_to(party, agreement)],
        may_end=party is not None
        and states.after(agreement.state, party, Message.TERMINATE) is not None,
        offerable=offerable(resources, context, agreement),
        in_force=is_in_force(agreement, datetime.now(UTC)),
    )


@router.post("/agreements/{agreement_id}/{message}")
def say(
    agreement_id: str,
    message: Message,
    resources: ResourcesDep,
    context: ContextDep,
    version: Annotated[int, Form(ge=0, lt=2**31)],
    reason: Annotated[str, Form(max_length=2_000)] = "",
) -> Response:
    """Say one thing in a negotiation, of the version that was looked at."""
    if message not in SAID:
        raise InvalidParameter(
            "The provider offers other terms by the form, and the consumer by the API.",
            parameter="message",
        )
    said = reason.strip() or None
    negotiation.send(resources, context, agreement_id, message, version=version, reason=said)
    return RedirectResponse(f"/portal/agreements/{agreement_id}?done=said", 303)


def _open_to(party: Party | None, agreement: Agreement) -> list[Message]:
    """What this side may say to go on."""
    if party is None:
        return []
    said = states.open_to(agreement.state, party)
    return [one for one in said if one in SAID and one is not Message.TERMINATE]
