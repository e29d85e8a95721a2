"""Home, sign-in, sign-out, and the account page with keys and sessions.

One signs in with a key, by a link that works once, or by an identity provider: out to it, and back.
"""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import (
    ContextDep,
    ResourcesDep,
    address_of,
    base_of,
    request_id_of,
)
from app.api.transport.problems import status_of
from app.errors import NotFound, RateLimited, Unauthenticated
from app.model import Role
from app.portal.agreements import buttons
from app.portal.pages import page
from app.portal.route import (
    PortalRoute,
    VisitDep,
    begin,
    cookie_of,
    forget,
    own_address,
    require_own_origin,
    set_cookie,
)
from app.service.logs import NOBODY, record_refusal
from app.service.sharing import email_notifications, identity, inbox, principals, sessions
from app.service.sharing.agreements.lookup import names_in, party_of

account_router = APIRouter(prefix="/portal", route_class=PortalRoute, include_in_schema=False)


NEXT = {
    Role.RECIPIENT: ("Find data", "/portal/catalogue"),
    Role.OWNER: ("Register a table", "/portal/owned/new"),
    Role.AUDITOR: ("Read the log", "/portal/log"),
    Role.ADMIN: ("Invite people", "/portal/principals"),
}
"""The next step of each role, where nothing waits."""


@account_router.get("")
def show_start(
    request: Request, visit: VisitDep, resources: ResourcesDep, context: ContextDep
) -> Response:
    """The inbox: what waits, what changed and what runs."""
    found = inbox.show_inbox(resources, context, visit.session.since)
    shown = [*found.waiting, *found.changed]
    label, address = NEXT[context.principal.role]
    return page(
        request,
        "start.html",
        title="Start",
        inbox=found,
        me=context.principal.id,
        names=names_in(resources, shown),
        buttons={one.id: buttons(party_of(context, one), one) for one in shown},
        next={"label": label, "address": address},
    )


@account_router.get("/account")
def show_account(request: Request, resources: ResourcesDep, context: ContextDep) -> Response:
    """Show the account, its keys and its sessions."""
    return page(
        request,
        "account.html",
        title="Account",
        sends_email=resources.outside.mail is not None,
        record=principals.show_principal(resources, context, context.principal.id),
        sessions=sessions.list_sessions(resources, context, context.principal.id),
    )


@account_router.post("/account/sessions/{session_id}/end")
def end_session(
    request: Request, session_id: str, visit: VisitDep, resources: ResourcesDep, context: ContextDep
) -> Response:
    """End one of one's own sessions."""
    sessions.end_session(resources, context, context.principal.id, session_id)
    if session_id == visit.session.id:
        return forget(request, RedirectResponse("/portal/sign-in?done=signed-out", 303))
    return RedirectResponse("/portal/account?done=session-ended", 303)


@account_router.post("/account/email")
def set_email(
    resources: ResourcesDep,
    context: ContextDep,
    email: Annotated[str, Form(max_length=300)] = "",
) -> Response:
    """Set where one is notified."""
    email_notifications.set_email(resources, context, email.strip() or None)
    return RedirectResponse("/portal/account?done=email-saved", 303)


@account_router.post("/account/keys")
def rotate_key(request: Request, resources: ResourcesDep, context: ContextDep) -> Response:
    """A new key in place of all; every session ends with the old ones."""
    new = principals.rotate_key(resources, context, context.principal.id)
    request.state.visit = None
    return forget(request, page(request, "new_key.html", title="Your new key", new=new, own=True))


unknown_router = APIRouter(prefix="/portal", route_class=PortalRoute, include_in_schema=False)


@unknown_router.get("/{path:path}")
def show_unknown(path: str) -> Response:
    """Answer an address that is no page, to those who are signed in."""
    raise NotFound(f"There is no page /portal/{path[:100]}.")


router = APIRouter(prefix="/portal", include_in_schema=False)
signed_in = APIRouter(prefix="/portal", route_class=PortalRoute, include_in_schema=False)

BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari", "curl")
SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux")
NAMES = {"Edg": "Edge", "OPR": "Opera", "Mac OS": "macOS"}


@router.get("/sign-in")
def show_sign_in(request: Request, after: Annotated[str, Query(alias="next")] = "") -> Response:
    """Show the sign-in form."""
    return page(
        request,
        "sign_in.html",
        title="Sign in",
        after=own_address(after),
        wrong=None,
        by_provider=_by_provider(request),
    )


@router.post("/sign-in")
def sign_in(
    request: Request,
    resources: ResourcesDep,
    key: Annotated[str, Form(max_length=1_000)] = "",
    after: Annotated[str, Form(alias="next", max_length=2_000)] = "",
) -> Response:
    """Exchange a key for a session."""
    require_own_origin(request)
    try:
        new = sessions.sign_in(
            resources,
            key.strip(),
            address=address_of(request),
            browser=browser_of(request),
            request_id=request_id_of(request),
        )
    except RateLimited:
        raise
    except Unauthenticated as wrong:
        record_refusal(resources, NOBODY, request_id_of(request), "POST /portal/sign-in", wrong)
        said = wrong.detail if key.strip() else "Type or paste your key."
        return page(
            request,
            "sign_in.html",
            status=status_of(type(wrong)),
            title="Sign in",
            after=own_address(after),
            wrong=said,
            by_provider=_by_provider(request),
        )
    return begin(request, RedirectResponse(own_address(after), 303), new)


@router.get("/sign-in/once/{token}")
def follow_link(
    token: str,
    request: Request,
    resources: ResourcesDep,
    after: Annotated[str, Query(alias="next", max_length=2_000)] = "",
) -> Response:
    """Follow a link that signs in once."""
    new = sessions.follow_link(
        resources,
        token,
        address=address_of(request),
        browser=browser_of(request),
        request_id=request_id_of(request),
    )
    return begin(request, RedirectResponse(own_address(after), 303), new)


@router.get("/invitation/{token}")
def show_invitation(request: Request) -> Response:
    """Where an invitation is accepted: programs that look at links ahead must not use it up."""
    return page(request, "invitation.html", title="Invitation")


@router.post("/invitation/{token}")
def accept_invitation(token: str, request: Request, resources: ResourcesDep) -> Response:
    """Sign in who was invited."""
    require_own_origin(request)
    return follow_link(token, request, resources, "/portal")


@signed_in.post("/sign-out")
def sign_out(
    request: Request, visit: VisitDep, resources: ResourcesDep, context: ContextDep
) -> Response:
    """End this session."""
    sessions.end_session(resources, context, context.principal.id, visit.session.id)
    return forget(request, RedirectResponse("/portal/sign-in?done=signed-out", 303))


def browser_of(request: Request) -> str:
    """Return the browser and system named by User-Agent in two words."""
    said = request.headers.get("user-agent", "")
    browser = next((name for name in BROWSERS if re.search(rf"\b{name}[/;]", said)), "A program")
    system = next((name for name in SYSTEMS if name in said), None)
    words = [NAMES.get(browser, browser), *([NAMES.get(system, system)] if system else [])]
    return " on ".join(words)


def _by_provider(request: Request) -> bool:
    return request.app.state.identity_provider is not None


provider_router = APIRouter(prefix="/portal/sign-in/provider", include_in_schema=False)

COOKIE, PATH = "cornerwave_sign_in", "/portal/sign-in/provider"
Text = Annotated[str, Query(max_length=4_000)]


@provider_router.get("")
def begin_sign_in(
    request: Request, resources: ResourcesDep, after: Annotated[str, Query(alias="next")] = ""
) -> Response:
    """Send the browser to the provider."""
    begun = identity.begin_sign_in(
        resources, _provider(request), _redirect_uri(request), own_address(after)
    )
    response = RedirectResponse(begun.url, 303)
    lifetime = identity.SIGN_IN_SECONDS
    set_cookie(request, response, COOKIE, begun.sealed_state, path=PATH, max_age=lifetime)
    return response


@provider_router.get("/back")
def complete_sign_in(
    request: Request,
    resources: ResourcesDep,
    state: Text = "",
    code: Text = "",
    error: Text = "",
) -> Response:
    """Sign in the browser that the provider sent back."""
    if error or not code:
        raise Unauthenticated("The identity provider did not let you in, or you changed your mind.")
    new, after = identity.complete_sign_in(
        resources,
        _provider(request),
        cookie_of(request, COOKIE),
        state=state,
        code=code,
        browser=browser_of(request),
        request_id=request_id_of(request),
    )
    response = begin(request, RedirectResponse(own_address(after), 303), new)
    set_cookie(request, response, COOKIE, "", path=PATH, max_age=0)
    return response


def _provider(request: Request) -> identity.IdentityProvider:
    provider: identity.IdentityProvider | None = request.app.state.identity_provider
    if provider is None:
        raise NotFound("No identity provider is configured here.")
    return provider


def _redirect_uri(request: Request) -> str:
    """Our address as the provider knows it."""
    return f"{base_of(request)}{PATH}/back"
