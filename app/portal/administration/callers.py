"""Callers, their keys and their sessions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import AskHere, ResourcesHere
from app.errors import InvalidParameter
from app.model import Role
from app.portal.rendering import page
from app.portal.visits import Page
from app.service.sharing import recipients, sessions

router = APIRouter(prefix="/portal/callers", route_class=Page, include_in_schema=False)

AT_ONCE = 50


@router.get("")
def list_callers(
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    after: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """Everybody who has, or had, a key."""
    found = recipients.list_recipients(resources, ask, after=after, limit=AT_ONCE + 1)
    return page(
        request,
        "administration/callers.html",
        title="Callers",
        records=found[:AT_ONCE],
        more=found[AT_ONCE - 1].caller.id if len(found) > AT_ONCE else None,
        roles=list(Role) if ask.caller.role is Role.ADMIN else [Role.RECIPIENT],
        may_make=ask.caller.role in (Role.ADMIN, Role.OWNER),
    )


@router.post("")
def create_caller(
    request: Request,
    resources: ResourcesHere,
    ask: AskHere,
    name: Annotated[str, Form(max_length=1_000)] = "",
    role: Annotated[str, Form(max_length=20)] = "",
) -> Response:
    """A new caller; its key is shown this once."""
    if role not in list(Role):
        raise InvalidParameter(f"role is one of {', '.join(Role)}", parameter="role")
    new = recipients.create_recipient(resources, ask, name.strip(), Role(role))
    title = f"A key for {new.caller.name}"
    return page(request, "new_key.html", title=title, new=new, own=False)


@router.get("/{caller_id}")
def show_caller(
    caller_id: str, request: Request, resources: ResourcesHere, ask: AskHere
) -> Response:
    """One caller."""
    record = recipients.show_recipient(resources, ask, caller_id)
    administers = ask.caller.role is Role.ADMIN
    return page(
        request,
        "administration/caller.html",
        title=record.caller.name,
        record=record,
        sessions=sessions.list_sessions(resources, ask, caller_id) if administers else [],
        administers=administers,
        own=caller_id == ask.caller.id,
    )


@router.post("/{caller_id}/keys")
def rotate_key(
    caller_id: str, request: Request, resources: ResourcesHere, ask: AskHere
) -> Response:
    """A new key in place of all that the caller had."""
    own = caller_id == ask.caller.id
    new = recipients.rotate_key(resources, ask, caller_id)
    if own:
        request.state.visit = None
    title = "Your new key" if own else f"A key for {new.caller.name}"
    return page(request, "new_key.html", title=title, new=new, own=own)


@router.post("/{caller_id}/keys/{key_id}/revoke")
def revoke_key(caller_id: str, key_id: str, resources: ResourcesHere, ask: AskHere) -> Response:
    """Revoke one key; sessions that were begun with it end."""
    recipients.revoke_key(resources, ask, caller_id, key_id)
    return RedirectResponse(f"/portal/callers/{caller_id}?done=key-revoked", 303)


@router.post("/{caller_id}/sessions/{session_id}/end")
def end_session(
    caller_id: str, session_id: str, resources: ResourcesHere, ask: AskHere
) -> Response:
    """End a caller's session."""
    sessions.end_session(resources, ask, caller_id, session_id)
    return RedirectResponse(f"/portal/callers/{caller_id}?done=session-ended", 303)


@router.post("/{caller_id}/revoke")
def revoke_caller(caller_id: str, resources: ResourcesHere, ask: AskHere) -> Response:
    """Revoke a caller for good."""
    recipients.revoke_recipient(resources, ask, caller_id)
    return RedirectResponse(f"/portal/callers/{caller_id}?done=revoked", 303)
