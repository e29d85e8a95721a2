"""Routes of the protocol: answers in its bodies, and errors as it has them.

What a principal may not see is a 404, a message that does not fit the state or the form a 400 with the
error of its own protocol; no key is a 401, and a failure of ours stays a problem document.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

import orjson
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError
from starlette.concurrency import run_in_threadpool

from app.api.transport.problems import headers_of, log_refusal, status_of, where_wrong
from app.api.transport.route import Route
from app.errors import DomainError, Refusal
from app.service.sharing.dataspace.words import message

OWN_STATUS = (401, 403, 404, 408, 413, 429, 503, 507)
"""Of ours, those that the protocol's errors keep; all others are its 400."""


class _DspRoute(Route):
    """A route of the protocol, with the kind of error that it answers."""

    error: ClassVar[str]
    has_pids: ClassVar[bool] = True

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_in_protocol(request: Request) -> Response:
            try:
                return await handle(request)
            except DomainError as problem:
                if isinstance(problem, Refusal):
                    await run_in_threadpool(log_refusal, request, problem)
                status = status_of(type(problem))
                return self._answer(
                    request,
                    status if status in OWN_STATUS else 400,
                    problem.slug,
                    problem.detail,
                    headers_of(problem),
                )
            except RequestValidationError as wrong:
                return self._answer(request, 400, "invalid-request", where_wrong(wrong), {})
            except DataError:
                said = "A text contains a NUL character."
                return self._answer(request, 400, "invalid-request", said, {})

        return handle_in_protocol

    def _answer(
        self, request: Request, status: int, code: str, reason: str, headers: dict[str, str]
    ) -> Response:
        pids = _pids(request) if self.has_pids else {}
        body = message(self.error, **pids, code=code, reason=[reason])
        return Response(orjson.dumps(body), status, headers, "application/json")


class CatalogRoute(_DspRoute):
    """A route of the catalog protocol."""

    error = "CatalogError"
    has_pids = False


class NegotiationRoute(_DspRoute):
    """A route of the contract negotiation protocol."""

    error = "ContractNegotiationError"


class TransferRoute(_DspRoute):
    """A route of the transfer process protocol."""

    error = "TransferError"


def answer(
    body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """A message of the protocol as an answer."""
    return Response(orjson.dumps(body), status, headers, "application/json")


def base_of(request: Request) -> str:
    """Our own address, as whoever asks knows it."""
    public: str | None = request.app.state.public_url
    return (public or str(request.base_url)).rstrip("/")


def _pids(request: Request) -> dict[str, str]:
    """Both names of the process, as far as the request has them: an error repeats them."""
    try:
        said = orjson.loads(getattr(request, "_body", b"") or b"{}")
    except orjson.JSONDecodeError:
        said = {}
    if not isinstance(said, dict):
        said = {}
    provider = request.path_params.get("provider_pid") or said.get("providerPid")
    return {
        "providerPid": str(provider or "urn:cornerwave:none")[:500],
        "consumerPid": str(said.get("consumerPid") or "urn:cornerwave:none")[:500],
    }
