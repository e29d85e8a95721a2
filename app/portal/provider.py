"""Signing in by an identity provider: out to it, and back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.addresses import base_of
from app.api.transport.dependencies import ResourcesHere, request_id_of
from app.errors import NotFound, Unauthenticated
from app.portal.signing_in import browser_of
from app.portal.visits import begin, own_address
from app.service.sharing import identity

router = APIRouter(prefix="/portal/sign-in/provider", include_in_schema=False)

COOKIE, PATH = "cornerwave_sign_in", "/portal/sign-in/provider"
Text = Annotated[str, Query(max_length=4_000)]


@router.get("")
def depart(
    request: Request, resources: ResourcesHere, after: Annotated[str, Query(alias="next")] = ""
) -> Response:
    """Send the browser to the provider."""
    sent = identity.depart(resources, _provider(request), _back(request), own_address(after))
    response = RedirectResponse(sent.address, 303)
    response.set_cookie(
        COOKIE,
        sent.kept,
        max_age=identity.ON_THE_WAY_SECONDS,
        path=PATH,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response


@router.get("/back")
def come_back(
    request: Request,
    resources: ResourcesHere,
    state: Text = "",
    code: Text = "",
    error: Text = "",
) -> Response:
    """Take whom the provider sent back."""
    if error or not code:
        raise Unauthenticated("The identity provider did not let you in, or you changed your mind.")
    new, after = identity.come_back(
        resources,
        _provider(request),
        request.cookies.get(COOKIE),
        state=state,
        code=code,
        browser=browser_of(request),
        request_id=request_id_of(request),
    )
    response = begin(request, RedirectResponse(own_address(after), 303), new)
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="lax")
    return response


def _provider(request: Request) -> identity.Provider:
    provider: identity.Provider | None = request.app.state.provider
    if provider is None:
        raise NotFound("No identity provider is configured here.")
    return provider


def _back(request: Request) -> str:
    """Our address as the provider knows it."""
    return f"{base_of(request)}{PATH}/back"
