"""Offers: an owner's own, and other terms in answer to what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from app.agreement import Agreement, Item, Party
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.errors import InvalidParameter, NotFound
from app.model import Level
from app.portal.owner.owning import ONE, FieldsDep, OwnDep
from app.portal.visits import Page
from app.service.context import RequestContext
from app.service.copies.levels import list_levels
from app.service.resources import Resources
from app.service.sharing.agreements import lookup, negotiating, states
from app.service.sharing.agreements.lookup import party_of
from app.service.sharing.agreements.states import Message
from app.service.sharing.agreements.terms import Draft, DraftItem


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


router = APIRouter(route_class=Page, include_in_schema=False)

LONGEST_PURPOSE = 2_000


@dataclass(frozen=True)
class Offerable:
    """What was asked for of a data set, and the levels that may be offered instead."""

    item: Item
    levels: list[Level]


def offerable(
    resources: Resources, context: RequestContext, agreement: Agreement
) -> list[Offerable]:
    """What the provider may offer instead; nothing where it is not its turn to offer."""
    provides = party_of(context, agreement) is Party.PROVIDER
    if not provides or states.after(agreement.state, Party.PROVIDER, Message.OFFER) is None:
        return []
    try:
        return [
            Offerable(item, list_levels(resources, context, item.dataset))
            for item in agreement.terms.items
        ]
    except NotFound:  # a data set was removed since it was asked for
        return []


@router.post("/portal/agreements/{agreement_id}/offer")
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
    negotiating.send(
        resources,
        context,
        agreement_id,
        Message.OFFER,
        draft=draft,
        version=_version(fields),
        reason=fields.get("reason", "").strip() or None,
    )
    return RedirectResponse(f"/portal/agreements/{agreement_id}?done=said", 303)


@router.post(f"{ONE}/offers")
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
    made = negotiating.open_agreement(resources, context, draft, fields.get("recipient", ""))
    return RedirectResponse(f"/portal/agreements/{made.id}?done=offered", 303)


def _version(fields: Mapping[str, str]) -> int:
    said = fields.get("version", "")
    if not said.isdecimal() or len(said) > 9:
        raise InvalidParameter("The form names no version.", parameter="version")
    return int(said)
