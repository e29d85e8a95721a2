"""What a route needs beside its parameters: the resources, and who asks."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from fastapi import Depends, Query, Request
from fastapi.security import HTTPBearer

from app.api.once import Answered, repeated_answer
from app.api.problems import request_id_of
from app.errors import InvalidParameter, RateLimited, Unauthenticated
from app.service.asking import Ask
from app.service.resources import Resources
from app.store import callers
from app.store.engine import reading

bearer = HTTPBearer(
    auto_error=False, description="The key that the service or an administrator gave out."
)


def get_resources(request: Request) -> Resources:
    """What `app.main` opened."""
    resources: Resources = request.app.state.resources
    return resources


def get_ask(
    request: Request,
    resources: Annotated[Resources, Depends(get_resources)],
    _documented: Annotated[object, Depends(bearer)],
) -> Ask:
    """Who asks: a valid key within its rate, or a refusal."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    address = request.client.host if request.client else "unknown"
    if scheme.lower() != "bearer" or not key.strip():
        _count(resources, f"address:{address}")
        raise Unauthenticated("the request has no `Authorization: Bearer <key>` header")
    with reading(resources.engine) as connection:
        caller = callers.caller_of(connection, key.strip())
    if caller is None:
        _count(resources, f"address:{address}")
        raise Unauthenticated("the key is unknown or was revoked")
    request.state.caller = caller.id
    _count(resources, f"caller:{caller.id}")
    ask = Ask(caller, request_id_of(request), getattr(request.state, "once", None))
    if ask.once is not None:
        answer = repeated_answer(resources, ask, ask.once)
        if answer is not None:
            raise Answered(answer)
    return ask


def _count(resources: Resources, name: str) -> None:
    limit = resources.limits.requests_per_minute
    count = resources.rates.count(name)
    if count.requests > limit:
        raise RateLimited(
            f"{limit} requests a minute are allowed",
            seconds=count.seconds_left,
            first=count.requests == limit + 1,
        )


def after_cursor(cursor: Annotated[str | None, Query(max_length=200)] = None) -> str:
    """Where a list goes on: what `encoded_cursor` made of the last item's id."""
    if cursor is None:
        return ""
    try:
        return base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        raise InvalidParameter(
            "cursor is not one that this list gave", parameter="cursor"
        ) from None


def encoded_cursor(last: str) -> str:
    """An opaque cursor that goes on after `last`."""
    return base64.urlsafe_b64encode(last.encode()).decode()


ResourcesHere = Annotated[Resources, Depends(get_resources)]
AskHere = Annotated[Ask, Depends(get_ask)]
AfterHere = Annotated[str, Depends(after_cursor)]
LimitHere = Annotated[int, Query(ge=1, le=1_000, description="Items a page.")]
