"""Route class of the API: authenticates before it reads the body, refuses unknown parameters, honours Idempotency-Key.

A write that carries an Idempotency-Key is carried out once, and its answer is repeated. The receipt is kept in the write's
own transaction (service/unit_of_work.py). The answer is added to it afterwards, sealed. Two requests are the same when
method, address, query and body are. An answer is repeated only while the right behind it is unchanged; an answer with
`no-store`, because it shows a key, is never kept.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, ClassVar

from anyio import from_thread
from anyio.lowlevel import EventLoopToken, current_token
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
from app.api.transport.incoming.async_requests import accept
from app.api.transport.incoming.bodies import read_json
from app.api.transport.request_body import Fingerprint, incoming_body_of
from app.errors import Conflict, IdempotencyConflict, InvalidParameter
from app.model import Binding, Principal, Receipt
from app.service import idempotency as receipts
from app.service.context import IdempotentRequest, RequestContext
from app.service.idempotency import wait_for_receipt
from app.service.sharing.agreements.lookup import right_to


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


LONGEST_KEY = 200
REPEATED_HEADERS = ("location", "preference-applied")
PURPOSE = "fingerprints of requests"
"""Of the key that follows from the master key. With another master key a request sent again is refused, not done twice."""


def idempotent_request(request: Request, token: EventLoopToken) -> IdempotentRequest | None:
    key = request.headers.get("idempotency-key")
    if key is None or request.method in ("GET", "HEAD", "OPTIONS"):
        return None
    if not 0 < len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise InvalidParameter(
            f"Idempotency-Key must have 1 to {LONGEST_KEY} printable ASCII characters",
            parameter="Idempotency-Key",
        )
    incoming = incoming_body_of(request)
    fingerprint = Fingerprint(request, get_resources(request).vault.derived(PURPOSE))
    incoming.hash_into(fingerprint.update)
    limit = upload_limit(request)

    def whole() -> str:
        # Called in a thread, before the write begins: what the reader of the table left is read.
        if not incoming.ended:
            from_thread.run(incoming.rest, limit, token=token)
        return fingerprint.hexdigest()

    return IdempotentRequest(key, whole)


def replay_answer(request: Request, context: RequestContext, receipt: Receipt) -> Response:
    """Repeat the answer that this key got before, if the request is the same and so is the right to it."""
    assert context.idempotency is not None
    if receipt.fingerprint != context.idempotency.fingerprint():
        raise IdempotencyConflict("This Idempotency-Key was used for another request.")
    resources = get_resources(request)
    kept = receipts.open_answer(resources, context, receipt)
    if kept is None or receipt.status is None:
        raise IdempotencyConflict(
            "This request was carried out, and its answer is not repeated: it showed a key, or was"
            " lost. Look at the subject; a key that was not seen is replaced by a new one.",
            subject=receipt.subject,
        )
    body = b64decode(kept["body"])
    if body and kept["right"] != right_to(resources, context, receipt.subject):
        raise IdempotencyConflict(
            "This request was carried out. Your right to its subject has changed since, so that the"
            " answer is not repeated.",
            subject=receipt.subject,
        )
    headers = {"Idempotency-Replayed": "true"} | kept.get("headers", {})
    return Response(body, receipt.status, headers, kept["media_type"])


def keep_answer(request: Request, context: RequestContext, response: Response) -> None:
    """Keep an answer to be repeated, unless it failed, streams, or shows a key."""
    body = getattr(response, "body", None)
    shown_once = "no-store" in response.headers.get("cache-control", "")
    if body is None or response.status_code >= 400 or shown_once:
        return
    resources = get_resources(request)
    receipt = receipts.find_receipt(resources, context)
    if receipt is None:
        return
    answer = {
        "body": b64encode(body).decode(),
        "media_type": response.headers.get("content-type", ""),
        "right": right_to(resources, context, receipt.subject) if body else None,
        "headers": {n: response.headers[n] for n in REPEATED_HEADERS if n in response.headers},
    }
    receipts.keep_answer(resources, context, response.status_code, answer)


def upload_limit(request: Request) -> int:
    return get_resources(request).limits.upload_bytes
