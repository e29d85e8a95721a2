"""What a route needs beside its parameters: the resources, who asks, known from the headers alone, and where the service is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from app.model import Binding, Caller
from app.service.asking import Ask
from app.service.logs import NOBODY
from app.service.permission import authenticate, count_request
from app.service.resources import Resources

bearer = HTTPBearer(
    auto_error=False, description="The key that the service or an administrator gave out."
)


def get_resources(request: Request) -> Resources:
    """What `app.main` opened."""
    resources: Resources = request.app.state.resources
    return resources


def request_id_of(request: Request) -> str:
    """The id that the outermost middleware gave this request."""
    return str(request.scope.get("state", {}).get("request_id", NOBODY))


def get_ask(request: Request, _documented: Annotated[object, Depends(bearer)]) -> Ask:
    """Who asks, as `Route` found before it read the body."""
    ask: Ask = request.state.ask
    return ask


ResourcesHere = Annotated[Resources, Depends(get_resources)]
AskHere = Annotated[Ask, Depends(get_ask)]


def key_of(request: Request) -> str | None:
    """The key that the request carries."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def known_caller(request: Request, *, bindings: Collection[Binding] = ()) -> Caller:
    """The holder of the request's key, within its rate; or a Refusal.

    Keys that are bound to an agreement are taken, too, where `bindings` names their kind.
    """
    resources = get_resources(request)
    address = request.client.host if request.client else "unknown"
    caller = authenticate(resources, key_of(request), address, bindings=bindings)
    request.state.caller = caller.id  # before it is counted: a refusal is logged with its caller
    count_request(resources, caller)
    return caller


def base_of(request: Request) -> str:
    """The address that the operator named, or else the one that the request came to; no slash at its end."""
    public: str | None = getattr(request.app.state, "public_url", None)
    return (public or str(request.base_url)).rstrip("/")
