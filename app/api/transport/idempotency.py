"""Idempotency-Key: a write that carries one is carried out once, and its answer is repeated.

The receipt is kept in the write's own transaction (service/unit_of_work.py). The answer is added to it afterwards, sealed.
Two requests are the same when method, address, query and body are. An answer is repeated only while the right behind it
is unchanged; an answer with `no-store`, because it shows a key, is never kept.
"""

from __future__ import annotations

from base64 import b64decode, b64encode

from anyio import from_thread
from anyio.lowlevel import EventLoopToken
from fastapi import Request, Response

from app.api.transport.dependencies import get_resources
from app.api.transport.request_body import Fingerprint, incoming_body_of
from app.errors import IdempotencyConflict, InvalidParameter
from app.model import Receipt
from app.service import idempotency as receipts
from app.service.context import IdempotentRequest, RequestContext
from app.service.sharing.agreements.lookup import right_to

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
