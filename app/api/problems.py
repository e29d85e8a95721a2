"""Errors as RFC 9457 problems: the only place that knows HTTP statuses.

FastAPI's own 422 repeats the rejected value, its 404 is not a problem document and its 500 is plain
text; the handlers here replace all of them. Refusals go to the audit log on their way out.
"""

from __future__ import annotations

import http
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from sqlalchemy.exc import DataError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from app import errors
from app.errors import DomainError, Refusal
from app.service.logs import NOBODY, record_refusal

PROBLEM_TYPE = "application/problem+json"

STATUS: dict[type[DomainError], int] = {
    errors.DomainError: 400,
    errors.InvalidParameter: 422,
    errors.InvalidTable: 422,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Refusal: 403,
    errors.Unauthenticated: 401,
    errors.RateLimited: 429,
    errors.UnsupportedMediaType: 415,
    errors.NotAcceptable: 406,
    errors.TooLarge: 413,
}
"""An error has the status of the nearest class above it that stands here."""

TRANSPORT = {
    400: ("bad-request", "The request is malformed", "Check that the body is what it claims."),
    404: ("not-found", errors.NotFound.title, errors.NotFound.remedy),
    405: (
        "method-not-allowed",
        "The address does not take this method",
        "The `Allow` header lists the methods.",
    ),
    422: (
        "invalid-request",
        "A parameter or the body does not have the form it must have",
        "Each entry of `errors` says where and what; /docs shows the form.",
    ),
    500: (
        "internal-error",
        "The service failed",
        "Report the request id to whoever runs the service; nothing of the data is in the log.",
    ),
}
"""Problems that are HTTP's or the service's own: slug, title, remedy."""

DOCUMENTED = (400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500)


class ErrorPlace(BaseModel):
    """Where in the request something is wrong, and what; never the value."""

    where: str
    problem: str


class Problem(BaseModel):
    """An RFC 9457 problem; members beyond these are the typed fields of its type."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[ErrorPlace] | None = None


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "description": http.HTTPStatus(status).phrase,
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status in (*DOCUMENTED, 406)
}
"""What every operation documents beside its success."""


def status_of(error: type[DomainError]) -> int:
    """The HTTP status of a domain error."""
    return next(STATUS[above] for above in error.__mro__ if above in STATUS)


def problem_types() -> dict[str, tuple[int, str, str, str]]:
    """Every slug: status, title, what it means, what to do."""
    known = {
        slug: (status, title, title + ".", remedy)
        for status, (slug, title, remedy) in TRANSPORT.items()
    }
    pending: list[type[DomainError]] = [DomainError]
    while pending:
        error = pending.pop()
        pending.extend(error.__subclasses__())
        if error is not DomainError:
            meaning = " ".join((error.__doc__ or error.title).split())
            known.setdefault(error.slug, (status_of(error), error.title, meaning, error.remedy))
    return dict(sorted(known.items()))


def problem_response(
    request: Request,
    status: int,
    slug: str,
    title: str,
    detail: str,
    members: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """A problem document."""
    body = {
        "type": f"/problems/{slug}",
        "title": title,
        "status": status,
        "detail": detail,
        "request_id": request_id_of(request),
        **(members or {}),
    }
    return Response(orjson.dumps(body), status, headers, PROBLEM_TYPE)


def request_id_of(request: Request) -> str:
    """The id that the outermost middleware gave this request."""
    return str(request.scope.get("state", {}).get("request_id", NOBODY))


def install(app: FastAPI) -> None:
    """Make every error of this app a problem document."""
    app.add_exception_handler(DomainError, _domain_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(DataError, _unkept_character)


async def _domain_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, DomainError)
    if isinstance(error, Refusal):
        await run_in_threadpool(_log_refusal, request, error)
    status = status_of(type(error))
    headers: dict[str, str] = {}
    if isinstance(error, errors.RateLimited):
        headers["Retry-After"] = str(error.fields.get("seconds", 60))
    if isinstance(error, errors.Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return problem_response(
        request, status, error.slug, error.title, error.detail, dict(error.fields), headers
    )


def _log_refusal(request: Request, error: Refusal) -> None:
    # Beyond the first, refusals for too many requests would let a caller flood the log.
    if isinstance(error, errors.RateLimited) and not error.fields.get("first", False):
        return
    record_refusal(
        request.app.state.resources,
        request.scope.get("state", {}).get("caller", NOBODY),
        request_id_of(request),
        f"{request.method} {request.url.path}"[:500],
        error,
    )


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    places = [
        {"where": ".".join(str(step) for step in found["loc"]), "problem": _message(found)}
        for found in error.errors()
    ]
    slug, title, _ = TRANSPORT[422]
    detail = "; ".join(f"{place['where']}: {place['problem']}" for place in places[:3])
    return problem_response(request, 422, slug, title, detail, {"errors": places})


def _message(found: dict[str, Any]) -> str:
    # These messages of pydantic repeat what was sent.
    if found["type"] in ("union_tag_invalid", "value_error", "assertion_error"):
        return "not one of the forms that are allowed here"
    return str(found["msg"])


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    slug, title, remedy = TRANSPORT.get(error.status_code, TRANSPORT[400])
    details = {404: f"nothing answers at {request.url.path}", 405: remedy}
    return problem_response(
        request,
        error.status_code,
        slug,
        title,
        details.get(error.status_code, remedy),
        headers=dict(error.headers or {}),
    )


async def _unkept_character(request: Request, _error: Exception) -> Response:
    """PostgreSQL keeps no NUL in a text; nothing with one can exist, wherever it was sent."""
    slug, title, _ = TRANSPORT[422]
    return problem_response(request, 422, slug, title, "a text contains a NUL character")
