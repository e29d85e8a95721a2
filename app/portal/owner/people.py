"""People page of a data set: grants, agreements, issued copies, tracing of a found table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.agreement import Agreement, State, is_in_force
from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.incoming.tables import BodyDep, ReadingDep
from app.model import Grant, Level, Principal, Role
from app.portal.agreements import end_of
from app.portal.owner.dependencies import ONE, PREFIX, OwnDep
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.context import RequestContext
from app.service.copies.generation.history import read_history
from app.service.copies.levels import list_levels
from app.service.copies.tracing import trace
from app.service.resources import Resources
from app.service.sharing import grants, principals
from app.service.sharing.agreements import lookup
from app.tables.pipeline import TableSource, read_table

router = APIRouter(prefix=f"{ONE}/people", route_class=PortalRoute, include_in_schema=False)

MOST = 500
"""Agreements, copies and names to choose from that one page shows."""

Chosen = Annotated[str, Form(max_length=200)]


@router.get("")
def show_people(
    request: Request,
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    recipient: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Rights, requests to decide, agreements and copies."""
    given = grants.list_grants(resources, context, dataset.id)
    agreed = lookup.agreements_about(resources, context, dataset.id, after="", limit=MOST)
    drawn = read_history(resources, context, dataset.id, after=0, limit=MOST)
    levels = list_levels(resources, context, dataset.id)
    now = datetime.now(UTC)
    mentioned = {one.recipient for one in given} | {one.consumer for one in agreed}
    return page(
        request,
        "owner/people.html",
        title=f"Who has what of {dataset.name}",
        dataset=dataset,
        levels=levels,
        grants=given,
        now=now,
        to_decide=[one for one in agreed if _waits_for_owner(one)],
        agreements=[one for one in agreed if not _waits_for_owner(one)],
        in_force={one.id for one in agreed if is_in_force(one, now)},
        drawn=drawn,
        called=_names_by_variance(levels),
        undo=recipient and grants.may_restore(resources, context, dataset.id, recipient),
        recipient=recipient,
        names=principals.names_of(
            resources,
            context,
            mentioned | {one.principal for one in drawn} | {dataset.owner, recipient},
        ),
        choices=_recipients(resources, context),
    )


@router.post("")
def grant(
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    recipient: Chosen = "",
    level: Chosen = "",
    until: Annotated[str, Form(max_length=40)] = "",
) -> Response:
    """Give somebody a level."""
    given = Grant(dataset.id, recipient, level, expires_at=end_of(until))
    grants.put_grant(resources, context, given)
    return _back(dataset.id, "granted")


@router.post("/withdraw")
def withdraw(
    dataset: OwnDep, resources: ResourcesDep, context: ContextDep, recipient: Chosen = ""
) -> Response:
    """Take a right back."""
    grants.withdraw_grant(resources, context, dataset.id, recipient)
    query = urlencode({"done": "withdrawn", "recipient": recipient})
    return RedirectResponse(f"{PREFIX}/{dataset.id}/people?{query}", 303)


@router.post("/restore")
def restore(
    dataset: OwnDep, resources: ResourcesDep, context: ContextDep, recipient: Chosen = ""
) -> Response:
    """Undo a withdrawal."""
    grants.restore_grant(resources, context, dataset.id, recipient)
    return _back(dataset.id, "restored")


def _names_by_variance(levels: list[Level]) -> dict[float, str]:
    """Levels of the same variance share a copy: it has the names of all of them."""
    found: dict[float, list[str]] = {}
    for level in levels:
        found.setdefault(level.noise_variance, []).append(level.name)
    return {variance: ", ".join(names) for variance, names in found.items()}


def _waits_for_owner(agreement: Agreement) -> bool:
    return agreement.state in (State.REQUESTED, State.ACCEPTED, State.VERIFIED)


def _recipients(resources: Resources, context: RequestContext) -> list[Principal]:
    """Return the recipients that may get a grant."""
    found = principals.list_principals(resources, context, after="", limit=MOST)
    able = [one.principal for one in found if not one.revoked_at]
    chosen = [principal for principal in able if principal.role is Role.RECIPIENT]
    return sorted(chosen, key=lambda principal: principal.name.lower())


def _back(dataset_id: str, done: str) -> Response:
    return RedirectResponse(f"{PREFIX}/{dataset_id}/people?done={done}", 303)


traces_router = APIRouter(prefix=f"{ONE}/trace", route_class=PortalRoute, include_in_schema=False)


@traces_router.get("")
def show_form(request: Request, dataset: OwnDep) -> Response:
    """Show the form for a found table."""
    title = f"Trace a table to copies of {dataset.name}"
    return page(request, "owner/trace.html", title=title, dataset=dataset)


@traces_router.post("")
def trace_file(
    request: Request,
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    body: BodyDep,
    reading: ReadingDep,
) -> Response:
    """The recipients whose copies a file was made of."""
    found = read_table(TableSource(body), reading, resources.limits, resources.spool_dir)
    traced = trace(resources, context, dataset.id, found)
    names = principals.names_of(resources, context, {one.recipient for one in traced.copies})
    return page(request, "owner/traced.html", traced=traced, names=names)
