"""Route class of the API: authenticates before it reads the body, refuses unknown parameters, honours Idempotency-Key."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, ClassVar

from anyio.lowlevel import current_token
from fastapi import Request, Response, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from app.api.transport.dependencies import (
    READING,
    async_preference,
    get_resources,
    known_principal,
    reading_share,
    replay_of,
    request_id_of,
)
from app.api.transport.idempotency import (
    idempotent_request,
    keep_answer,
    replay_answer,
    upload_limit,
)
from app.api.transport.incoming.async_requests import accept
from app.api.transport.incoming.bodies import read_json
from app.api.transport.request_body import incoming_body_of
from app.errors import Conflict, InvalidParameter
from app.model import Binding, Principal
from app.service.context import RequestContext
from app.service.idempotency import wait_for_receipt


class Route(APIRoute):
    """A route that knows the principal before it reads the body, takes no unknown parameter, and honours
    Idempotency-Key.

    where:
        bindings       the kinds of keys, good for one agreement only, that open it too
        takes_unknown  whether parameters that it does not know are let be
        identify       finds out whose request it is
    """

    bindings: ClassVar[frozenset[Binding]] = frozenset()
    takes_unknown: ClassVar[bool] = False
    identify: ClassVar[Callable[..., Principal]] = staticmethod(known_principal)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        known = {
            field.alias
            for field in get_flat_params(self.dependant)
            if isinstance(field.field_info, params.Query)
        }

        reading = reading_share(self.endpoint)

        async def handle_once(request: Request) -> Response:
            replay = replay_of(request)
            if replay is None:
                principal = await run_in_threadpool(self.identify, request, bindings=self.bindings)
                _refuse_unknown(request, None if self.takes_unknown else known)
                idempotency = idempotent_request(request, current_token())
                context = RequestContext(principal, request_id_of(request), idempotency)
            else:
                context, idempotency = replay.context, replay.context.idempotency
                replay.reading = READING if reading is None else reading
                request.state.principal = context.principal.id
            context = replace(context, if_match=known_revisions(request))
            request.state.context = context
            if idempotency is not None:
                receipt = await run_in_threadpool(wait_for_receipt, get_resources(request), context)
                if receipt is not None:
                    await incoming_body_of(request).rest(upload_limit(request))
                    return await run_in_threadpool(replay_answer, request, context, receipt)
            preference = None
            # A key that is bound to an agreement opens copies and no jobs: it waits for its answer.
            if replay is None and reading is not None and context.principal.agreement is None:
                preference = async_preference(request, get_resources(request).jobs.max_wait_seconds)
            if self.body_field is not None:
                await read_json(request, self.body_field)
            try:
                if preference is not None:
                    response = await accept(request, self, context, preference)
                else:
                    response = await handle(request)
            except Conflict:
                # Perhaps with what the same request, sent at the same time, has just done.
                if idempotency is None:
                    raise
                other = await run_in_threadpool(wait_for_receipt, get_resources(request), context)
                if other is None:
                    raise
                await incoming_body_of(request).rest(upload_limit(request))
                return await run_in_threadpool(replay_answer, request, context, other)
            if idempotency is not None:
                await run_in_threadpool(keep_answer, request, context, response)
            return response

        return handle_once


class CopyRoute(Route):
    """A route to copies, which the key of a transfer opens too."""

    bindings = frozenset({Binding.TRANSFER})


def known_revisions(request: Request) -> frozenset[str] | None:
    """The revisions that a change names (`If-Match`), weak or strong; None where it names none."""
    named = request.headers.get("if-match")
    if named is None or request.method == "GET":
        return None
    return frozenset(tag.strip().removeprefix("W/").strip('"') for tag in named.split(","))


def _refuse_unknown(request: Request, known: set[str] | None) -> None:
    """A misspelt parameter would be as good as none, and nobody would notice."""
    for name in request.query_params:
        if known is not None and name not in known:
            takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            raise InvalidParameter(
                f"There is no parameter {name[:100]!r} here; {takes}.", parameter=name[:100]
            )
