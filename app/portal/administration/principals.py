"""Principals page: create and revoke principals, keys and sessions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep, base_of
from app.errors import InvalidParameter
from app.model import Role
from app.portal.lists import ListDep
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.sharing import principals, sessions

PEOPLE_AT_ONCE = 50

router = APIRouter(prefix="/portal/principals", route_class=PortalRoute, include_in_schema=False)


@router.get("")
def list_principals(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    params: ListDep,
) -> Response:
    """Everybody who has, or had, a key."""
    found = principals.search_principals(resources, context, params.query(PEOPLE_AT_ONCE))
    return page(
        request,
        "administration/principals.html",
        title="People",
        listed=params.page_of(found, PEOPLE_AT_ONCE),
        roles=list(Role) if context.principal.role is Role.ADMIN else [Role.RECIPIENT],
        may_make=context.principal.role in (Role.ADMIN, Role.OWNER),
    )


@router.post("")
def create_principal(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
    name: Annotated[str, Form(max_length=1_000)] = "",
    role: Annotated[str, Form(max_length=20)] = "",
    by: Annotated[str, Form(max_length=20)] = "key",
) -> Response:
    """A new principal; its invitation, or its key, is shown this once."""
    if role not in list(Role):
        raise InvalidParameter(f"role is one of {', '.join(Role)}", parameter="role")
    if by == "invitation":
        invited = principals.invite_principal(resources, context, name.strip(), Role(role))
        return page(
            request,
            "administration/invitation.html",
            title=f"An invitation for {invited.principal.name}",
            invitation=invited,
            address=f"{base_of(request)}/portal/invitation/{invited.token}",
        )
    new = principals.create_principal(resources, context, name.strip(), Role(role))
    title = f"A key for {new.principal.name}"
    return page(request, "new_key.html", title=title, new=new, own=False)


@router.get("/{principal_id}")
def show_principal(
    principal_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """One principal."""
    record = principals.show_principal(resources, context, principal_id)
    administers = context.principal.role is Role.ADMIN
    return page(
        request,
        "administration/principal.html",
        title=record.principal.name,
        record=record,
        sessions=sessions.list_sessions(resources, context, principal_id) if administers else [],
        administers=administers,
        own=principal_id == context.principal.id,
    )


@router.post("/{principal_id}/keys")
def rotate_key(
    principal_id: str, request: Request, resources: ResourcesDep, context: ContextDep
) -> Response:
    """A new key in place of all that the principal had."""
    own = principal_id == context.principal.id
    new = principals.rotate_key(resources, context, principal_id)
    if own:
        request.state.visit = None
    title = "Your new key" if own else f"A key for {new.principal.name}"
    return page(request, "new_key.html", title=title, new=new, own=own)


@router.post("/{principal_id}/keys/{key_id}/revoke")
def revoke_key(
    principal_id: str, key_id: str, resources: ResourcesDep, context: ContextDep
) -> Response:
    """Revoke one key; sessions that were begun with it end."""
    principals.revoke_key(resources, context, principal_id, key_id)
    return RedirectResponse(f"/portal/principals/{principal_id}?done=key-revoked", 303)


@router.post("/{principal_id}/sessions/{session_id}/end")
def end_session(
    principal_id: str, session_id: str, resources: ResourcesDep, context: ContextDep
) -> Response:
    """End a principal's session."""
    sessions.end_session(resources, context, principal_id, session_id)
    return RedirectResponse(f"/portal/principals/{principal_id}?done=session-ended", 303)


@router.post("/{principal_id}/revoke")
def revoke_principal(principal_id: str, resources: ResourcesDep, context: ContextDep) -> Response:
    """Revoke a principal for good."""
    principals.revoke_principal(resources, context, principal_id)
    return RedirectResponse(f"/portal/principals/{principal_id}?done=revoked", 303)
