"""Idempotency-Key: a write that carries one is done once, and its answer is repeated.

The receipt is kept in the write's own transaction (service/asking.py); here the answer is added to
it, sealed, and found again. A request is the same when method, address, query and JSON body are.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from app.errors import IdempotencyConflict, InvalidParameter, TooLarge
from app.service.asking import Ask, Once
from app.service.resources import Resources
from app.store import receipts
from app.store.engine import reading, writing

LONGEST_KEY = 200
JSON_BODY_BYTES = 16 * 2**20


class Answered(Exception):
    """This request was answered before; the answer is carried here."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class Route(APIRoute):
    """A route that bounds its JSON body and honours Idempotency-Key."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_once(request: Request) -> Response:
            if self.body_field is not None:
                await _bounded_body(request)
            once = await _once(request)
            if once is None:
                return await handle(request)
            request.state.once = once
            try:
                response = await handle(request)
            except Answered as answered:
                return answered.response
            await run_in_threadpool(_keep_answer, request, once, response)
            return response

        return handle_once


def repeated_answer(resources: Resources, ask: Ask, once: Once) -> Response | None:
    """The answer that this key got before, if the request is the same."""
    with reading(resources.engine) as connection:
        receipt = receipts.find(connection, ask.caller.id, once.key)
    if receipt is None:
        return None
    if receipt.fingerprint != once.fingerprint:
        raise IdempotencyConflict("this Idempotency-Key was used for another request")
    if receipt.answer is None or receipt.status is None:
        raise IdempotencyConflict(
            "this request was carried out, but its answer was lost; look at the subject",
            subject=receipt.subject,
        )
    kept = orjson.loads(resources.vault.open(receipt.answer, _context(ask.caller.id, once)))
    headers = {"Idempotency-Replayed": "true"}
    return Response(b64decode(kept["body"]), receipt.status, headers, kept["media_type"])


async def _once(request: Request) -> Once | None:
    key = request.headers.get("idempotency-key")
    if key is None or request.method in ("GET", "HEAD", "OPTIONS"):
        return None
    if not 0 < len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise InvalidParameter(
            f"Idempotency-Key must have 1 to {LONGEST_KEY} printable ASCII characters",
            parameter="Idempotency-Key",
        )
    digest = hashlib.sha256()
    length = request.headers.get("content-length", "")
    for text in (request.method, request.url.path, request.url.query, length):
        digest.update(text.encode() + b"\0")
    # A table's body streams; its length stands for it. A JSON body is at hand.
    digest.update(getattr(request, "_body", b""))
    return Once(key, digest.hexdigest())


async def _bounded_body(request: Request) -> None:
    """Read the JSON body into the request, unless it is larger than any that is meant."""
    if request.headers.get("content-type", "").startswith("multipart/"):
        return
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > JSON_BODY_BYTES:
            raise TooLarge(f"a JSON body may have {JSON_BODY_BYTES} bytes", limit=JSON_BODY_BYTES)
    request._body = bytes(body)


def _keep_answer(request: Request, once: Once, response: Response) -> None:
    caller = getattr(request.state, "caller", None)
    body = getattr(response, "body", None)
    if caller is None or body is None or response.status_code >= 400:
        return
    resources: Resources = request.app.state.resources
    media_type = response.headers.get("content-type", "")
    kept = {"body": b64encode(body).decode(), "media_type": media_type}
    sealed = resources.vault.seal(orjson.dumps(kept), _context(caller, once))
    with writing(resources.engine) as connection:
        receipts.add_answer(connection, caller, once.key, response.status_code, sealed)


def _context(caller: str, once: Once) -> str:
    return f"answer:{caller}:{once.key}"
