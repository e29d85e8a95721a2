"""Who asks, known from the headers alone: before anything of the body is read."""

from __future__ import annotations

from collections.abc import Collection

from fastapi import Request

from app.model import Binding, Caller
from app.service.permission import authenticate, count_request
from app.service.resources import Resources


def key_of(request: Request) -> str | None:
    """The key that the request carries."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def known_caller(request: Request, *, bindings: Collection[Binding] = ()) -> Caller:
    """The holder of the request's key, within its rate; or a Refusal.

    Keys that are bound to an agreement are taken, too, where `bindings` names their kind.
    """
    resources: Resources = request.app.state.resources
    address = request.client.host if request.client else "unknown"
    caller = authenticate(resources, key_of(request), address, bindings=bindings)
    request.state.caller = caller.id  # before it is counted: a refusal is logged with its caller
    count_request(resources, caller)
    return caller
