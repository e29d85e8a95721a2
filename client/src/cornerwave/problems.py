"""Exceptions: problem documents of the service, and failures of transport."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from cornerwave.notebook import html_table


class CornerwaveError(Exception):
    """Whatever this package raises on purpose."""


class NoKey(CornerwaveError):
    """No key, or no address of a service, was given or found."""


class InvalidAddress(CornerwaveError):
    """The address is none that a request can be sent to; the message says how it should look."""


class NotInstalled(CornerwaveError):
    """A package that this needs is not installed; the message says how to get it."""


class ConnectionFailed(CornerwaveError):
    """The service could not be reached, or went away, and trying again did not help."""


class NotCornerwave(ConnectionFailed):
    """The address is not that of a Cornerwave service that this client knows, or it redirects elsewhere."""


class UnlikeService(Exception):
    """An answer that no Cornerwave service gives; a driver raises it as NotCornerwave with the address."""


class ChecksumMismatch(CornerwaveError):
    """The values that arrived are not those that the service says it sent."""


class JobFailed(CornerwaveError):
    """A job ended without a result."""


class Problem(CornerwaveError):
    """An answer other than the one hoped for: an RFC 9457 problem document.

    Members that only some problems have, such as `rows_needed`, are in `members`.
    """

    slugs: ClassVar[tuple[str, ...]] = ()
    statuses: ClassVar[tuple[int, ...]] = ()

    def __init__(self, status: int, document: Mapping[str, Any], address: str = "") -> None:
        self.status = status
        self.members = dict(document)
        self.slug = str(document.get("type", "")).rpartition("/")[2]
        self.type = f"{address}{document.get('type', 'about:blank')}"
        """An address that opens a page on this kind of problem."""
        self.title = str(document.get("title", f"The service answered with status {status}"))
        self.detail = str(document.get("detail", ""))
        self.request_id = str(document.get("request_id", ""))
        self.column: str | None = document.get("column")
        self.row: int | None = document.get("row")
        self.parameter: str | None = document.get("parameter")
        errors = document.get("errors")
        self.errors: list[dict[str, str]] = errors if isinstance(errors, list) else []
        super().__init__(self.detail or self.title)

    def __str__(self) -> str:
        said = self.detail or self.title
        return f"{said} (request {self.request_id})" if self.request_id else said

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.status, self.members, self.type)

    def _repr_html_(self) -> str:
        rows = {
            "detail": self.detail,
            "column": self.column,
            "row": self.row,
            "parameter": self.parameter,
            "type": self.type,
            "request id": self.request_id,
        }
        return html_table(self.title, [(name, said) for name, said in rows.items() if said])


def _again(kind: type[Problem], status: int, document: dict[str, Any], said: str) -> Problem:
    return kind(status, document, said.removesuffix(str(document.get("type", "about:blank"))))


class InvalidTable(Problem):
    """The table cannot be used; `column` and `row` say where, as far as that is known."""

    slugs = ("invalid-table",)


class InvalidRequest(Problem):
    """A parameter has a value, or the request a form, that cannot be used."""

    statuses = (400, 405, 406, 413, 415, 416, 422, 431)


class Unauthenticated(Problem):
    """The key is unknown or revoked."""

    statuses = (401,)


class Forbidden(Problem):
    """The principal of this key may not do this."""

    statuses = (403,)


class NotFound(Problem):
    """Not found, or hidden from the principal of this key."""

    statuses = (404,)


class Conflict(Problem):
    """The request contradicts what is kept; `slug` says in which way."""

    statuses = (409,)


class RateLimited(Problem):
    """Too many requests, also after waiting."""

    statuses = (429,)


class Unavailable(Problem):
    """The service fails or is overloaded, also after trying again."""

    statuses = (408, 500, 502, 503, 504, 507)


def problem_of(status: int, content: bytes, address: str, request_id: str = "") -> Problem:
    """The exception for an answer; a proxy in between may have answered with anything."""
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        document = {"detail": f"The answer has status {status} and is not a problem document."}
    document.setdefault("request_id", request_id)
    return problem_from(status, document, address)


def problem_from(status: int, document: Mapping[str, Any], address: str = "") -> Problem:
    """The exception for a problem document, of the class that fits best."""
    slug = str(document.get("type", "")).rpartition("/")[2]
    kinds = Problem.__subclasses__()
    by_slug = (kind for kind in kinds if slug in kind.slugs)
    by_status = (kind for kind in kinds if status in kind.statuses)
    kind = next(by_slug, None) or next(by_status, Problem)
    return kind(status, document, address)
