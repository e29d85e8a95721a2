"""Agreement pages: requests for access, offers, and the messages of a negotiation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.agreement import (
    Agreement,
    Item,
    Message,
    Party,
    State,
    is_in_force,
    messages_open_to,
    state_after,
)
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.errors import InvalidParameter, NotFound
from app.model import Level, Role
from app.portal.owner.dependencies import ONE, FieldsDep, OwnDep
from app.portal.pages import PAGES, page
from app.portal.route import PortalRoute
from app.service.context import RequestContext
from app.service.copies.levels import list_levels
from app.service.resources import Resources
from app.service.sharing import catalogue
from app.service.sharing.agreements import lookup, negotiation
from app.service.sharing.agreements.lookup import party_of
from app.service.sharing.agreements.terms import Draft, DraftItem
from app.service.sharing.inbox import requests_for

router = APIRouter(prefix="/portal", route_class=PortalRoute, include_in_schema=False)

AT_ONCE = 50

STATES = {
    State.REQUESTED: ("requested", "warn", "The owner decides."),
    State.OFFERED: ("offered", "warn", "The analyst decides."),
    State.ACCEPTED: ("accepted", "accent", "The owner confirms the offer."),
    State.AGREED: ("agreed", "accent", "The analyst confirms what was agreed."),
    State.VERIFIED: ("verified", "accent", "The owner puts it into force."),
    State.FINALIZED: ("in force", "good", "The copies can be had."),
    State.TERMINATED: ("ended", "", "Nothing follows from it any more."),
}
LABELS = {Message.ACCEPT: "Accept the offer", Message.VERIFY: "Confirm the agreement"}
"""Buttons of the consumer's messages; the provider has one button for all of its own."""

PAGES.filters |= {"stands": lambda agreement: STATES[agreement.state]}


@router.get("/listings/{dataset_id}")
def show_listing(
    dataset_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """A listed data set, and the form that asks for it."""
    listing = catalogue.show_listing(resources, context, dataset_id)
    may_ask = context.principal.role is Role.RECIPIENT
    requests = requests_for(resources, context, [dataset_id])
    return page(
        request,
        "agreements/listing.html",
        title=listing.name,
        listing=listing,
        may_ask=may_ask,
        request_of=requests.get(dataset_id),
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
    state: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """One's own agreements, and requests on their way to one."""
    chosen = State(state) if state in list(State) else None
    found = lookup.list_agreements(resources, context, after=after, limit=AT_ONCE + 1, state=chosen)
    shown = found[:AT_ONCE]
    return page(
        request,
        "agreements/list.html",
        title="Agreements",
        agreements=shown,
        states=STATES,
        state=state,
        names=lookup.names_in(resources, shown),
        waiting={one.id for one in shown if buttons(party_of(context, one), one)},
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
        "agreements/agreement.html",
        title="Agreement",
        agreement=agreement,
        names=lookup.names_in(resources, [agreement]),
        entries=lookup.read_agreement_log(resources, context, agreement_id, after=0, limit=200),
        buttons=buttons(party, agreement),
        may_end=party is not None
        and state_after(agreement.state, party, Message.TERMINATE) is not None,
        offerable=offerable(resources, context, agreement),
        in_force=is_in_force(agreement, datetime.now(UTC)),
        provides=party is Party.PROVIDER,
        states=STATES,
    )


@router.post("/agreements/{agreement_id}/grant")
def grant_access(
    agreement_id: str,
    resources: ResourcesDep,
    context: ContextDep,
    version: Annotated[int, Form(ge=0, lt=2**31)],
) -> Response:
    """Put a request into force with one click."""
    negotiation.accept_request(resources, context, agreement_id, version=version)
    return RedirectResponse(f"/portal/agreements/{agreement_id}?done=granted", 303)


@router.post("/agreements/{agreement_id}/offer")
def offer_other_terms(
    agreement_id: str, fields: FieldsDep, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Answer a request with other levels, or another end."""
    terms = lookup.show_agreement(resources, context, agreement_id).terms
    items = tuple(
        DraftItem(item.dataset, fields.get(f"level-{place}", item.level), item.columns)
        for place, item in enumerate(terms.items)
    )
    draft = Draft(
        items,
        terms.purpose,
        terms.legal_basis,
        terms.text,
        ends_at=end_of(fields.get("until", "")),
        refresh=terms.refresh,
        deliveries=terms.deliveries,
        traceable="traceable" in fields,
    )
    negotiation.send(
        resources,
        context,
        agreement_id,
        Message.OFFER,
        draft=draft,
        version=_version(fields),
        reason=fields.get("reason", "").strip() or None,
    )
    return RedirectResponse(f"/portal/agreements/{agreement_id}?done=said", 303)


@router.post("/agreements/{agreement_id}/{message}")
def send_message(
    agreement_id: str,
    message: Message,
    resources: ResourcesDep,
    context: ContextDep,
    version: Annotated[int, Form(ge=0, lt=2**31)],
    reason: Annotated[str, Form(max_length=2_000)] = "",
) -> Response:
    """Send a message of a negotiation, about the version that was shown."""
    if message not in LABELS and message is not Message.TERMINATE:
        raise InvalidParameter(
            "The provider offers other terms by the form, and the consumer by the API.",
            parameter="message",
        )
    said = reason.strip() or None
    negotiation.send(resources, context, agreement_id, message, version=version, reason=said)
    return RedirectResponse(f"/portal/agreements/{agreement_id}?done=said", 303)


def buttons(party: Party | None, agreement: Agreement) -> list[tuple[str, str]]:
    """Return address and label of what this side can do to go on."""
    if party is None:
        return []
    open_messages = messages_open_to(agreement.state, party)
    if party is Party.PROVIDER:
        goes_on = Message.AGREE in open_messages or Message.FINALIZE in open_messages
        return [("grant", "Grant access")] if goes_on else []
    return [(one.value, LABELS[one]) for one in open_messages if one in LABELS]


LONGEST_PURPOSE = 2_000
offers_router = APIRouter(prefix=f"{ONE}/offers", route_class=PortalRoute, include_in_schema=False)


@dataclass(frozen=True)
class Offerable:
    """Requested data set, and the levels that may be offered instead."""

    item: Item
    levels: list[Level]


def offerable(
    resources: Resources, context: RequestContext, agreement: Agreement
) -> list[Offerable]:
    """Return what the provider may offer instead; nothing when it is not its turn."""
    provides = party_of(context, agreement) is Party.PROVIDER
    if not provides or state_after(agreement.state, Party.PROVIDER, Message.OFFER) is None:
        return []
    try:
        return [
            Offerable(item, list_levels(resources, context, item.dataset))
            for item in agreement.terms.items
        ]
    except NotFound:  # a data set was removed since it was asked for
        return []


@offers_router.post("")
def offer(
    dataset: OwnDep, fields: FieldsDep, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Offer somebody an agreement."""
    purpose = fields.get("purpose", "").strip()
    if not purpose:
        raise InvalidParameter("Say what the copy is for.", parameter="purpose")
    draft = Draft(
        (DraftItem(dataset.id, fields.get("level", "")),),
        purpose[:LONGEST_PURPOSE],
        ends_at=end_of(fields.get("until", "")),
        traceable="traceable" in fields,
    )
    made = negotiation.open_agreement(resources, context, draft, fields.get("recipient", ""))
    return RedirectResponse(f"/portal/agreements/{made.id}?done=offered", 303)


def _version(fields: Mapping[str, str]) -> int:
    said = fields.get("version", "")
    if not said.isdecimal() or len(said) > 9:
        raise InvalidParameter("The form names no version.", parameter="version")
    return int(said)


def end_of(day: str) -> datetime | None:
    """The end of the day, where one was given."""
    if not day:
        return None
    try:
        return datetime.combine(datetime.fromisoformat(day).date(), time(23, 59, 59), UTC)
    except ValueError:
        raise InvalidParameter(
            "until must be a day such as 2026-12-31", parameter="until"
        ) from None
