"""Error handler: domain errors as RFC 9457 problems; the only place that knows HTTP statuses.

FastAPI's own 422 repeats the rejected value, its 404 is not a problem document and its 500 is plain
text; the handlers here replace all of them. Refusals go to the audit log on their way out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import DataError, SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.routing import Match, Mount
from starlette.types import Scope

from app import errors
from app.api.transport.dependencies import base_of, request_id_of
from app.api.transport.error_places import message_of, place_of
from app.errors import DomainError, Refusal
from app.service.health import outage_of
from app.service.logs import NOBODY, record_refusal

log = logging.getLogger("cornerwave.requests")
PROBLEM_TYPE = "application/problem+json"
PROTOCOL_TYPE = "application/json; charset=utf-8"

STATUS: dict[type[DomainError], int] = {
    errors.DomainError: 400,
    errors.InvalidParameter: 422,
    errors.InvalidTable: 422,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Refusal: 403,
    errors.Unauthenticated: 401,
    errors.RateLimited: 429,
    errors.QuotaExceeded: 429,
    errors.UnsupportedMediaType: 415,
    errors.NotAcceptable: 406,
    errors.TooLarge: 413,
    errors.RequestTimeout: 408,
    errors.PreconditionFailed: 412,
    errors.Busy: 503,
    errors.Unavailable: 503,
    errors.StorageFull: 507,
    errors.JobLost: 500,
}
"""An error has the status of the nearest class above it that stands here."""

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

TRANSPORT = {
    400: ("bad-request", "Bad request", "Check that the body is what it claims."),
    404: ("not-found", errors.NotFound.title, errors.NotFound.remedy),
    405: (
        "method-not-allowed",
        "Method not allowed",
        "The `Allow` header lists the methods.",
    ),
    415: (
        errors.UnsupportedMediaType.slug,
        errors.UnsupportedMediaType.title,
        errors.UnsupportedMediaType.remedy,
    ),
    416: (
        "range-not-satisfiable",
        "Range not satisfiable",
        "Ask for bytes that the answer has; `bytes` says how many there are.",
    ),
    422: (
        "invalid-request",
        "Invalid request",
        "Each entry of `errors` says where and what; /docs shows the form.",
    ),
    431: (
        "head-too-large",
        "Headers too large",
        "Send what is long in the body.",
    ),
    500: (
        "internal-error",
        "Internal error",
        "Report the request id to whoever runs the service; nothing of the data is in the log.",
    ),
}
"""Problems that are HTTP's or the service's own: slug, title, remedy."""

MEANINGS = {
    400: "The request is malformed.",
    404: errors.NotFound.__doc__ or "",
    405: "The address exists, but not for this method.",
    415: errors.UnsupportedMediaType.__doc__ or "",
    416: "The requested range lies outside the answer.",
    422: "A parameter or the body does not have the required form.",
    431: "The request line or the headers are longer than 64 KiB.",
    500: "The service failed; a write was either carried out whole or not at all.",
}

DOCUMENTED = (400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 415, 422, 429, 431, 500, 503, 507)
"""The statuses that every operation documents beside its success."""

PLACES = 100
"""Validation errors reported at most."""


class ErrorPlace(BaseModel):
    """Location and kind of an error in the request, without the value."""

    where: str
    problem: str


class Problem(BaseModel):
    """An RFC 9457 problem; members beyond these are the typed fields of its type."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(pattern="^/problems/[a-z-]+$", description="An address that opens a page.")
    title: str
    status: int = Field(ge=400, le=599)
    detail: str = Field(pattern=r"^[^a-z][\s\S]*\.$", description="Full sentences.")
    request_id: str
    errors: list[ErrorPlace] = []


PROBLEM_ANSWER: dict[str, Any] = {
    "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
}
"""A problem as a documented answer."""


def status_of(error: type[DomainError]) -> int:
    """The HTTP status of a domain error."""
    return next(STATUS[above] for above in error.__mro__ if above in STATUS)


def problem_types() -> dict[str, tuple[int, str, str, str]]:
    """Every slug: status, title, what it means, what to do."""
    known = {
        slug: (status, title, MEANINGS[status], remedy)
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
    """A problem document, or the error of a foreign protocol where one is spoken."""
    shaped = _protocol_error(request, status, slug, detail)
    if shaped is not None:
        return Response(orjson.dumps(shaped[1]), shaped[0], headers, PROTOCOL_TYPE)
    body = {
        "type": f"/problems/{slug}",
        "title": title,
        "status": status,
        "detail": detail,
        "request_id": request_id_of(request),
        **(members or {}),
    }
    return Response(orjson.dumps(body), status, headers, PROBLEM_TYPE)


def stored_problem(kept: dict[str, Any], request_id: str) -> Problem:
    """The problem of something that failed after its request was over."""
    slug = kept["slug"]
    return Problem(
        type=f"/problems/{slug}",
        title=kept["title"],
        status=problem_types()[slug][0],
        detail=kept["detail"],
        request_id=request_id,
        **kept["fields"],
    )


Shape = Callable[[Request, int, str, str], tuple[int, dict[str, Any]] | None]
"""Status, slug and detail of a problem → status and body of a protocol's error; None for a problem document."""


def install(app: FastAPI, shapes: Mapping[str, Shape]) -> None:
    """Make every error of this app a problem document, or below an address in `shapes` an error of its protocol."""
    app.state.error_shapes = shapes
    app.add_exception_handler(DomainError, _domain_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(DataError, _nul_character)
    for failure in (SQLAlchemyError, OSError):
        app.add_exception_handler(failure, _outage)


def _protocol_error(
    request: Request, status: int, slug: str, detail: str
) -> tuple[int, dict[str, Any]] | None:
    for prefix, shape in getattr(request.app.state, "error_shapes", {}).items():
        if request.url.path.startswith(prefix):
            found: tuple[int, dict[str, Any]] | None = shape(request, status, slug, detail)
            return found
    return None


async def _domain_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, DomainError)
    if isinstance(error, Refusal):
        await run_in_threadpool(log_refusal, request, error)
    return problem_of(request, error)


def problem_of(request: Request, error: DomainError) -> Response:
    """A domain error as a problem document."""
    return problem_response(
        request,
        status_of(type(error)),
        error.slug,
        error.title,
        error.detail,
        dict(error.fields),
        headers_of(error),
    )


def headers_of(error: DomainError) -> dict[str, str]:
    """Return the HTTP headers of an error."""
    comes_again = errors.RateLimited | errors.QuotaExceeded | errors.Busy | errors.Unavailable
    if isinstance(error, comes_again):
        return {"Retry-After": str(error.fields.get("seconds", 60))}
    if isinstance(error, errors.Unauthenticated):
        return {"WWW-Authenticate": "Bearer"}
    return {}


ONE_TIME_LINKS = ("/portal/invitation/", "/portal/sign-in/once/")
"""Addresses that end in a token."""


def log_refusal(request: Request, error: Refusal) -> None:
    """Keep in the audit log that a request was refused."""
    # Beyond the first, refusals for too many requests would let a principal flood the log.
    if isinstance(error, errors.RateLimited) and not error.fields.get("first", False):
        return
    record_refusal(
        request.app.state.resources,
        request.scope.get("state", {}).get("principal", NOBODY),
        request_id_of(request),
        f"{request.method} {_without_token(request.url.path)}"[:500],
        error,
    )


def _without_token(path: str) -> str:
    """The path as the audit log may name it: a one-time link stays valid after a refusal."""
    link = next((one for one in ONE_TIME_LINKS if path.startswith(one)), None)
    return path if link is None else f"{link}…"


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    slug, title, _ = TRANSPORT[422]
    said = {"errors": _places(error)}
    return problem_response(request, 422, slug, title, where_wrong(error), said)


def where_wrong(error: RequestValidationError) -> str:
    """The first places in which a request is wrong, in a sentence."""
    wrong = "; ".join(f"{place['where']}: {place['problem']}" for place in _places(error)[:3])
    return f"This cannot be used: {wrong}."


def _places(error: RequestValidationError) -> list[dict[str, str]]:
    """Return locations and messages of validation errors; alternatives of one location are joined."""
    wrong: dict[str, dict[str, None]] = {}
    for found in error.errors()[:PLACES]:
        wrong.setdefault(_where(found, error.body), {}).setdefault(message_of(found))
    return [{"where": where, "problem": ", or ".join(said)} for where, said in wrong.items()]


def _where(found: dict[str, Any], body: object) -> str:
    part, *steps = found["loc"]
    if part == "body":
        return place_of({**found, "loc": steps}, body) or part
    # Of the address and the headers, pydantic's way goes no further than the name.
    return str(steps[0] if steps else part)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    slug, title, remedy = TRANSPORT.get(error.status_code, TRANSPORT[400])
    headers = dict(error.headers or {})
    if error.status_code == 404 and (other := _without_slash(request)):
        return RedirectResponse(other, 308)
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_allowed_methods(request))
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=headers)
    details = {
        404: f"Nothing answers at {request.url.path}.",
        405: f"This address takes {headers.get('Allow')} and nothing else.",
    }
    return problem_response(
        request,
        error.status_code,
        slug,
        title,
        details.get(error.status_code, remedy),
        headers=headers,
    )


def _allowed_methods(request: Request) -> list[str]:
    """The methods that an address takes: of all its routes, of which Starlette names the first's."""
    taken = {method for method in METHODS if _is_routed({**request.scope, "method": method})}
    taken |= {"OPTIONS", *({"HEAD"} if "GET" in taken else ())}
    return [method for method in METHODS if method in taken]


def _is_routed(scope: Scope) -> bool:
    """Whether a route takes the method; files are mounted, and are only read."""
    reads = scope["method"] == "GET"
    whole = {**scope, "root_path": scope.get("app_root_path", "")}
    return any(
        route.matches(dict(whole))[0] is Match.FULL and (reads or not isinstance(route, Mount))
        for route in scope["app"].routes
    )


def _without_slash(request: Request) -> str | None:
    """The public address of the same path without a slash at its end, if that is one of ours."""
    # Of the scope: in a URL, a line break at the end is dropped.
    path = request.scope["path"].rstrip("/")
    known = path != request.scope["path"] and any(
        _is_routed({**request.scope, "path": path, "raw_path": path.encode(), "method": method})
        for method in METHODS
    )
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{base_of(request)}{quote(path)}{query}" if known else None


def failure_of(request: Request) -> Response:
    """Return the answer to an unhandled exception."""
    slug, title, remedy = TRANSPORT[500]
    return problem_response(request, 500, slug, title, remedy)


async def _outage(request: Request, error: Exception) -> Response:
    """Return the outage behind an exception of the database or the disk, None for any other."""
    outage = outage_of(error)
    if outage is None:
        raise error
    said = {"request_id": request_id_of(request), "failure": type(error).__name__}
    log.warning("outage", extra=said)
    return problem_of(request, outage)


async def _nul_character(request: Request, _error: Exception) -> Response:
    """PostgreSQL keeps no NUL in a text; nothing with one can exist, wherever it was sent."""
    slug, title, _ = TRANSPORT[422]
    return problem_response(request, 422, slug, title, "A text contains a NUL character.")
