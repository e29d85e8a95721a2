"""Route class of the portal: session authentication and CSRF check.

A write needs three things at once: the session's cookie, which browsers send to this site alone
(SameSite); an `Origin` that is this site; and a token that only a page of this session can know.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from app.api.transport.dependencies import counted, replay_of, request_id_of
from app.errors import CsrfFailed, TooLarge, Unauthenticated
from app.model import Session
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.sessions import NewSession, known_session

SESSION_COOKIE = "cornerwave_session"
TOKEN_FIELD, TOKEN_HEADER = "form_token", "x-form-token"
SAFE = ("GET", "HEAD")
FORM_TYPE = "application/x-www-form-urlencoded"
FORM_BYTES = 2**20
"""What a form without a file may have."""


@dataclass(frozen=True)
class Visit:
    """A request of somebody who is signed in."""

    context: RequestContext
    session: Session
    form_token: str


class PortalRoute(APIRoute):
    """A route for those who are signed in; the others are led to where they can sign in."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_visit(request: Request) -> Response:
            if (replay := replay_of(request)) is not None:  # by a job: it was let in before
                request.state.principal = replay.context.principal.id
                request.state.context = replay.context
                return await handle(request)
            require_own_origin(request)
            visit = await run_in_threadpool(_visit, request)
            if visit is None:
                if request.method in SAFE and "text/html" in request.headers.get("accept", ""):
                    return RedirectResponse(f"/portal/sign-in?next={quote(_here(request))}", 303)
                raise Unauthenticated("You are not signed in, or your session has ended.")
            request.state.visit, request.state.context = visit, visit.context
            request.state.key_id = visit.session.key
            if request.method not in SAFE:
                await _require_token(request, visit)
            return await handle(request)

        return handle_visit


def _visit(request: Request) -> Visit | None:
    token = cookie_of(request, SESSION_COOKIE)
    if not token:
        return None
    resources: Resources = request.app.state.resources
    session = known_session(resources, token)
    if session is None:
        return None
    counted(request, session.principal, None)
    return Visit(
        RequestContext(session.principal, request_id_of(request)), session, form_token(token)
    )


def get_visit(request: Request) -> Visit:
    """Return the visit that `PortalRoute` found."""
    visit: Visit = request.state.visit
    return visit


VisitDep = Annotated[Visit, Depends(get_visit)]


def form_token(session_token: str) -> str:
    """Return the CSRF token of a session, derived from the session's token."""
    return hmac.new(session_token.encode(), b"cornerwave form", hashlib.sha256).hexdigest()


def require_own_origin(request: Request) -> None:
    """Refuse a write that another site's page, or a page of unknown origin, has sent."""
    if request.method in SAFE:
        return
    origin = request.headers.get("origin")
    own = origin is not None and urlsplit(origin).netloc == request.headers.get("host")
    site = request.headers.get("sec-fetch-site", "same-origin")
    if not own or site not in ("same-origin", "none"):
        raise CsrfFailed("The form was sent from another site, or from a page without an address.")


async def _require_token(request: Request, visit: Visit) -> None:
    """The token of a form is its field; that of a script, which may send a file, is a header."""
    said = request.headers.get(TOKEN_HEADER, "")
    if not said and request.headers.get("content-type", "").startswith(FORM_TYPE):
        await read_form(request)
        said = str((await request.form()).get(TOKEN_FIELD, ""))
    if not hmac.compare_digest(said.encode(), visit.form_token.encode()):
        raise CsrfFailed("The form does not carry the token of your session.")


async def read_form(request: Request) -> None:
    """Read a form without files, up to a limit."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or int(length) > FORM_BYTES:
        raise TooLarge(f"A form may have {FORM_BYTES} bytes.", limit_bytes=FORM_BYTES)
    await request.form()
    request.state.form_was_read = True


def begin(request: Request, response: Response, new: NewSession) -> Response:
    """The response, with the session's cookie: no script reads it, no other site has it sent."""
    set_cookie(request, response, SESSION_COOKIE, new.token, path="/portal")
    return response


def forget(request: Request, response: Response) -> Response:
    """The response, after which the browser has no session."""
    set_cookie(request, response, SESSION_COOKIE, "", path="/portal", max_age=0)
    return response


def set_cookie(
    request: Request,
    response: Response,
    name: str,
    value: str,
    *,
    path: str,
    max_age: int | None = None,
) -> None:
    """Set a cookie that no script reads.

    Where the public address is https it is for that host alone, whatever a proxy says of this request.
    """
    public = _is_public_https(request)
    response.set_cookie(
        _cookie_name(request, name),
        value,
        max_age=max_age,
        path="/" if public else path,
        httponly=True,
        samesite="lax",
        secure=public or request.url.scheme == "https",
    )


def cookie_of(request: Request, name: str) -> str | None:
    """The cookie that `set_cookie` set under this name."""
    return request.cookies.get(_cookie_name(request, name))


def _cookie_name(request: Request, name: str) -> str:
    return f"__Host-{name}" if _is_public_https(request) else name


def _is_public_https(request: Request) -> bool:
    return urlsplit(request.app.state.public_url or "").scheme == "https"


def _here(request: Request) -> str:
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")


def own_address(text: str) -> str:
    """Return the address after sign-in: a page of this portal, whatever was requested."""
    parts = urlsplit(text)
    fits = parts.path == "/portal" or parts.path.startswith("/portal/")
    leads_away = parts.scheme or parts.netloc or "\\" in text or ".." in parts.path
    return "/portal" if leads_away or not fits else text
