"""Responses and error bodies of the Dataspace Protocol.

What a principal may not see is a 404. A message that does not fit the state or the form is a 400 with the error
of its own protocol. A failure of ours stays a problem document.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson
from fastapi import Request, Response

from app.service.sharing.dataspace.vocabulary import PATH, message

KEPT_STATUSES = (401, 403, 404, 408, 413, 429, 503, 507)
"""Statuses that errors of the protocol keep; others are a 400."""

PROBLEM_STATUSES = (405, 500)
"""Statuses that stay problem documents."""


def answer(
    body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """Return a message of the protocol as an answer."""
    return Response(orjson.dumps(body), status, headers, "application/json")


def error_shape(
    kind: str, request: Request, status: int, slug: str, detail: str
) -> tuple[int, dict[str, Any]] | None:
    """Return status and body of an error of this type."""
    if status in PROBLEM_STATUSES:
        return None
    pids = {} if kind == "CatalogError" else _pids(request)
    body = message(kind, **pids, code=slug, reason=[detail])
    return status if status in KEPT_STATUSES else 400, body


ERROR_SHAPES = {
    f"{PATH}/catalog/": partial(error_shape, "CatalogError"),
    f"{PATH}/negotiations/": partial(error_shape, "ContractNegotiationError"),
    f"{PATH}/transfers/": partial(error_shape, "TransferError"),
}


def _pids(request: Request) -> dict[str, str]:
    """Return both ids of the process, as far as the request has them: an error repeats them."""
    try:
        body = orjson.loads(getattr(request, "_body", b"") or b"{}")
    except orjson.JSONDecodeError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    provider = request.path_params.get("provider_pid") or body.get("providerPid")
    return {
        "providerPid": str(provider or "urn:cornerwave:none")[:500],
        "consumerPid": str(body.get("consumerPid") or "urn:cornerwave:none")[:500],
    }
