"""Who asks comes first, then the body; and a write with an Idempotency-Key is done once.

The receipt is kept in the write's own transaction (service/asking.py); here the answer is added to
it, sealed, and found again. A request is the same when method, address, query and the whole body
are. An answer is repeated to whom it was given, while the right behind it is what it was then; one
that says `no-store`, because it shows a key, is never kept.
"""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

import orjson
from anyio import from_thread
from anyio.lowlevel import EventLoopToken, current_token
from fastapi import Request, Response, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from app.api.jobs.accepting import accept
from app.api.transport.dependencies import (
    READING,
    get_resources,
    known_caller,
    later,
    reading_share,
    replay_of,
    request_id_of,
)
from app.api.transport.incoming.json_bodies import read_json
from app.api.transport.incoming.request_body import Fingerprint, incoming_body_of
from app.errors import Conflict, IdempotencyConflict, InvalidParameter
from app.model import Binding
from app.service.asking import Ask, Once
from app.service.permission import right_to
from app.store.database import receipts
from app.store.database.engine import reading, writing
from app.store.database.receipts import Receipt

LONGEST_KEY = 200
REPEATED_HEADERS = ("location", "preference-applied")
LOOKS, LOOK_SECONDS = 20, 0.1
"""How often, and after which time, it is looked for an answer that may be on its way."""

PURPOSE = "fingerprints of requests"
"""Of the key that follows from the master key. With another master key a request sent again is refused, not done twice."""


class Route(APIRoute):
    """A route that knows the caller before it reads the body, takes no unknown parameter, and honours
    Idempotency-Key.

    where:
        bindings       the kinds of keys, good for one agreement only, that open it too
        takes_unknown  whether parameters that it does not know are let be
    """

    bindings: ClassVar[frozenset[Binding]] = frozenset()
    takes_unknown: ClassVar[bool] = False

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
                caller = await run_in_threadpool(known_caller, request, bindings=self.bindings)
                _refuse_unknown(request, None if self.takes_unknown else known)
                once = _once(request, current_token())
                ask = Ask(caller, request_id_of(request), once)
            else:
                ask, once = replay.ask, replay.ask.once
                replay.reading = READING if reading is None else reading
                request.state.caller = ask.caller.id
            request.state.ask = ask
            if once is not None:
                receipt = await run_in_threadpool(_receipt, request, ask, once)
                if receipt is not None:
                    await incoming_body_of(request).rest(_limit(request))
                    return await run_in_threadpool(_repeated, request, ask, once, receipt)
            wish = None
            # A key that is bound to an agreement opens copies and no jobs: it waits for its answer.
            if replay is None and reading is not None and ask.caller.agreement is None:
                wish = later(request, get_resources(request).jobs.patience)
            if self.body_field is not None and not _is_form(request):
                await read_json(request, self.body_field)
            try:
                if wish is not None:
                    response = await accept(request, self, ask, wish)
                else:
                    response = await handle(request)
            except Conflict:
                # Perhaps with what the same request, sent at the same time, has just done.
                if once is None:
                    raise
                other = await run_in_threadpool(_receipt, request, ask, once)
                if other is None:
                    raise
                await incoming_body_of(request).rest(_limit(request))
                return await run_in_threadpool(_repeated, request, ask, once, other)
            if once is not None:
                await run_in_threadpool(_keep_answer, request, ask, once, response)
            return response

        return handle_once


class CopyRoute(Route):
    """A route to copies, which the key of a transfer opens too."""

    bindings = frozenset({Binding.TRANSFER})


def _refuse_unknown(request: Request, known: set[str] | None) -> None:
    """A misspelt parameter would be as good as none, and nobody would notice."""
    for name in request.query_params:
        if known is not None and name not in known:
            takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            raise InvalidParameter(
                f"There is no parameter {name[:100]!r} here; {takes}.", parameter=name[:100]
            )


def _once(request: Request, token: EventLoopToken) -> Once | None:
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
    limit = _limit(request)

    def whole() -> str:
        # Called in a thread, before the write begins: what the reader of the table left is read.
        if not incoming.ended:
            from_thread.run(incoming.rest, limit, token=token)
        return fingerprint.hexdigest()

    return Once(key, whole)


def _receipt(request: Request, ask: Ask, once: Once) -> Receipt | None:
    """The receipt for this key; its answer is kept a moment after it, and waited for."""
    for _ in range(LOOKS):
        with reading(get_resources(request).engine) as connection:
            receipt = receipts.find(connection, ask.caller.id, once.key)
        if receipt is None or receipt.answer is not None:
            return receipt
        time.sleep(LOOK_SECONDS)
    return receipt


def _repeated(request: Request, ask: Ask, once: Once, receipt: Receipt) -> Response:
    """The answer that this key got before, if the request is the same and so is the right to it."""
    if receipt.fingerprint != once.fingerprint():
        raise IdempotencyConflict("This Idempotency-Key was used for another request.")
    if receipt.answer is None or receipt.status is None:
        raise IdempotencyConflict(
            "This request was carried out, and its answer is not repeated: it showed a key, or was"
            " lost. Look at the subject; a key that was not seen is replaced by a new one.",
            subject=receipt.subject,
        )
    resources = get_resources(request)
    kept = orjson.loads(resources.vault.open(receipt.answer, _context(ask.caller.id, once)))
    body = b64decode(kept["body"])
    if body and kept["right"] != right_to(resources, ask, receipt.subject):
        raise IdempotencyConflict(
            "This request was carried out. Your right to its subject has changed since, so that the"
            " answer is not repeated.",
            subject=receipt.subject,
        )
    headers = {"Idempotency-Replayed": "true"} | kept.get("headers", {})
    return Response(body, receipt.status, headers, kept["media_type"])


def _keep_answer(request: Request, ask: Ask, once: Once, response: Response) -> None:
    body = getattr(response, "body", None)
    shown_once = "no-store" in response.headers.get("cache-control", "")
    if body is None or response.status_code >= 400 or shown_once:
        return
    resources = get_resources(request)
    with reading(resources.engine) as connection:
        receipt = receipts.find(connection, ask.caller.id, once.key)
    if receipt is None:
        return
    kept = {
        "body": b64encode(body).decode(),
        "media_type": response.headers.get("content-type", ""),
        "right": right_to(resources, ask, receipt.subject) if body else None,
        "headers": {n: response.headers[n] for n in REPEATED_HEADERS if n in response.headers},
    }
    sealed = resources.vault.seal(orjson.dumps(kept), _context(ask.caller.id, once))
    with writing(resources.engine) as connection:
        receipts.add_answer(connection, ask.caller.id, once.key, response.status_code, sealed)


def _limit(request: Request) -> int:
    return get_resources(request).limits.upload_bytes


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith("multipart/")


def _context(caller: str, once: Once) -> str:
    return f"answer:{caller}:{once.key}"
