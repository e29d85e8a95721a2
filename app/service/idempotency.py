"""Idempotency-Key: the answer of a write, kept sealed beside its receipt to be repeated.

The receipt is kept in the write's own transaction (unit_of_work.py); the answer is added afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import orjson

from app.model import Receipt
from app.service.context import RequestContext
from app.service.resources import Resources
from app.store.database import receipts
from app.store.database.engine import reading, writing

POLLS, POLL_SECONDS = 20, 0.1
"""How often, and after which time, an answer that may be on its way is looked for."""


def find_receipt(resources: Resources, context: RequestContext) -> Receipt | None:
    """Return the receipt of the request's key, None where nothing was written under it."""
    with reading(resources.engine) as connection:
        return receipts.find(connection, context.principal.id, _key(context))


def wait_for_receipt(resources: Resources, context: RequestContext) -> Receipt | None:
    """Return the receipt of the request's key; its answer follows a moment later and is waited for."""
    for _ in range(POLLS):
        receipt = find_receipt(resources, context)
        if receipt is None or receipt.answer is not None:
            return receipt
        time.sleep(POLL_SECONDS)
    return receipt


def open_answer(
    resources: Resources, context: RequestContext, receipt: Receipt
) -> Mapping[str, Any] | None:
    """Return the answer that was kept; None where none was."""
    if receipt.answer is None:
        return None
    answer: Mapping[str, Any] = orjson.loads(
        resources.vault.open(receipt.answer, _purpose(context))
    )
    return answer


def keep_answer(
    resources: Resources, context: RequestContext, status: int, answer: Mapping[str, Any]
) -> None:
    """Seal an answer and add it to the receipt."""
    sealed = resources.vault.seal(orjson.dumps(answer), _purpose(context))
    with writing(resources.engine) as connection:
        receipts.add_answer(connection, context.principal.id, _key(context), status, sealed)


def _key(context: RequestContext) -> str:
    assert context.idempotency is not None
    return context.idempotency.key


def _purpose(context: RequestContext) -> str:
    return f"answer:{context.principal.id}:{_key(context)}"
