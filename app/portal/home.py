"""The first page, and a caller's own account with its sessions."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import AskHere, ResourcesHere
from app.portal.rendering import page
from app.portal.visits import Page, VisitHere, forget
from app.service.sharing import recipients, sessions

router = APIRouter(prefix="/portal", route_class=Page, include_in_schema=False)


@router.get("")
def show_start(request: Request) -> Response:
    """What one can do here."""
    return page(request, "start.html", title="Start")


@router.get("/account")
def show_account(request: Request, resources: ResourcesHere, ask: AskHere) -> Response:
    """Who one is, one's keys and one's sessions."""
    return page(
        request,
        "account.html",
        title="Account",
        record=recipients.show_recipient(resources, ask, ask.caller.id),
        sessions=sessions.list_sessions(resources, ask, ask.caller.id),
    )


@router.post("/account/sessions/{session_id}/end")
def end_session(
    session_id: str, visit: VisitHere, resources: ResourcesHere, ask: AskHere
) -> Response:
    """End one of one's own sessions."""
    sessions.end_session(resources, ask, ask.caller.id, session_id)
    if session_id == visit.session.id:
        return forget(RedirectResponse("/portal/sign-in?done=signed-out", 303))
    return RedirectResponse("/portal/account?done=session-ended", 303)


@router.post("/account/keys")
def rotate_key(request: Request, resources: ResourcesHere, ask: AskHere) -> Response:
    """A new key in place of all; every session ends with the old ones."""
    new = recipients.rotate_key(resources, ask, ask.caller.id)
    request.state.visit = None
    return forget(page(request, "new_key.html", title="Your new key", new=new, own=True))
