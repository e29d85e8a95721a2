"""FastAPI dependencies: resources, request context, progress, base URL.

The principal is known from the headers alone. A request may be answered later: `Prefer` (RFC 7240) says whether a principal
would rather have that, and how long it waits; the job that sends the request again brings what this one knew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from anyio import from_thread
from anyio.lowlevel import current_token
from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.requests import ClientDisconnect

from app.api.transport.request_body import incoming_body_of
from app.errors import Unauthenticated
from app.model import Binding, Principal
from app.service.authentication import (
    authenticate,
    count_request,
    public_key_id,
    refuse_address,
)
from app.service.context import RequestContext
from app.service.logs import NOBODY
from app.service.progress import SCALE, NullProgress, Progress
from app.service.resources import Resources
from app.service.sharing.identity import authenticate_token, issuer_of
from app.tables.bodies.streams import ByteStream

bearer = HTTPBearer(
    auto_error=False, description="The key that the service or an administrator gave out."
)


def get_resources(request: Request) -> Resources:
    """Return the resources that `app.main` opened."""
    resources: Resources = request.app.state.resources
    return resources


def request_id_of(request: Request) -> str:
    """The id that the outermost middleware gave this request."""
    return str(request.scope.get("state", {}).get("request_id", NOBODY))


def get_context(
    request: Request, _documented: Annotated[object, Depends(bearer)]
) -> RequestContext:
    """Return the request context, which `Route` made before it read the body."""
    context: RequestContext = request.state.context
    return context


ResourcesDep = Annotated[Resources, Depends(get_resources)]
ContextDep = Annotated[RequestContext, Depends(get_context)]


def key_of(request: Request) -> str | None:
    """Return the key of the request."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def known_principal(request: Request, *, bindings: Collection[Binding] = ()) -> Principal:
    """Return the principal of the request's key or token, within its rate limit; or a Refusal.

    Keys that are bound to an agreement are taken, too, where `bindings` names their kind.
    """
    resources, key = get_resources(request), key_of(request)
    issuer = issuer_of(request.app.state.token_issuers, key)
    if key is None or issuer is None:
        principal = authenticate(resources, key, address_of(request), bindings=bindings)
        return counted(request, principal, public_key_id(key or ""))
    try:
        principal = authenticate_token(resources, issuer, key, request_id_of(request))
    except Unauthenticated:
        refuse_address(resources, address_of(request))
        raise
    return counted(request, principal, None)


def counted(request: Request, principal: Principal, key_id: str | None) -> Principal:
    """The principal, whose request is counted; `key_id` is None where it came by a token or a session."""
    # Before it is counted: a refusal is logged with its principal.
    request.state.principal, request.state.key_id = principal.id, key_id
    count_request(get_resources(request), principal)
    return principal


def address_of(request: Request) -> str:
    """The address that the request came from."""
    return request.client.host if request.client else "unknown"


def base_of(request: Request) -> str:
    """The address that the operator named, or else the one that the request came to; no slash at its end."""
    public: str | None = getattr(request.app.state, "public_url", None)
    return (public or str(request.base_url)).rstrip("/")


Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
LOOK_SECONDS = 0.5
READING = 50
"""Of SCALE of the work, what reading the body takes where nothing else is said."""


@dataclass
class Replay:
    """Data that a job adds to the request it sends.

    where:
        body     what was sent, as it is read
        key_id   the public id of the key that asked for it; None for a token or a session
        reading  of SCALE of the work, what reading the body takes
    """

    context: RequestContext
    progress: Progress
    body: ByteStream
    key_id: str | None = None
    reading: int = READING


def can_be_long(reading: int = READING) -> Callable[[Endpoint], Endpoint]:
    """Mark a route whose answer a principal may prefer later; `reading` the body is so much of the work."""

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.reading = reading  # type: ignore[attr-defined]  # a mark on a function
        return endpoint

    return mark


def reading_share(endpoint: Callable[..., Any]) -> int | None:
    """The share that reading takes; None for a route that is never long."""
    share: int | None = getattr(endpoint, "reading", None)
    return share


def replay_of(request: Request) -> Replay | None:
    """Return the data of the job that sends this request; None without one."""
    replay: Replay | None = request.scope.get("state", {}).get("replay")
    return replay


def key_id_of(request: Request) -> str | None:
    """The public id of the key that asks, or asked for the job that sends this request; None for a token or a session."""
    replay = replay_of(request)
    key_id: str | None = request.state.key_id if replay is None else replay.key_id
    return key_id


class RequestProgress(NullProgress):
    """Progress of a request: raises ClientDisconnect once the client has left."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self._incoming = incoming_body_of(request)
        self._token = current_token()
        self._next_look = 0.0

    def report(self, step: str, done: int, total: int) -> None:
        self.raise_if_cancelled()

    def raise_if_cancelled(self) -> None:
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        if from_thread.run(self._incoming.has_left, token=self._token):
            raise ClientDisconnect


async def get_progress(request: Request) -> Progress:
    """Return the progress of the job that replays this request, else that of the request."""
    replay = replay_of(request)
    return (
        RequestProgress(request)
        if replay is None
        else replay.progress.subrange(replay.reading, SCALE)
    )


ProgressDep = Annotated[Progress, Depends(get_progress)]


@dataclass(frozen=True)
class AsyncPreference:
    """Preference for a job in place of an answer that takes longer than `wait` seconds."""

    seconds: float
    applied: str


def async_preference(request: Request, max_wait_seconds: float) -> AsyncPreference | None:
    """Return the `Prefer` header's preference; None where the client waits for the answer.

    `respond-async` alone is a job at once; `wait=30` an answer within 30 seconds, or else a job. Nobody
    waits longer than `max_wait_seconds`. Preferences that are not known, or make no sense, are ignored.
    """
    said = dict(_preferences(request.headers.getlist("prefer")))
    wait = said.get("wait", "")
    if wait.isdecimal() and len(wait) < 9:
        seconds = min(float(wait), max_wait_seconds)
        return AsyncPreference(seconds, f"wait={seconds:g}")
    return AsyncPreference(0.0, "respond-async") if "respond-async" in said else None


def _preferences(headers: list[str]) -> list[tuple[str, str]]:
    """Names and values; of a preference that is said twice the first counts."""
    found = []
    for said in ",".join(headers).split(","):
        name, _, value = said.partition(";")[0].partition("=")
        found.append((name.strip().lower(), value.strip().strip('"')))
    return found[::-1]
