"""Requests as values, and operations as generators of requests that both drivers run.

An operation yields a `Call` and is sent the `Answer`; what it returns is the result. Nothing here does I/O, so
that there is one implementation of every operation.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from cornerwave.problems import UnlikeService
from cornerwave.transport.bodies import Body, JsonBody

T = TypeVar("T")

Scalar = str | int | float | bool | None
Query = Mapping[str, Scalar | Sequence[str]]

JSON = "application/json"

ACCEPTED = 202
"""The answer comes later: what has come is the job, and nothing for a sink."""


class Sink(Protocol):
    """Destination of an answer's bytes, which can resume after a cut."""

    def headers(self) -> dict[str, str]:
        """Return the headers of the request: for all bytes, or for the rest."""

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """An answer begins; from the start again, if it is not the rest."""

    def take(self, chunk: bytes) -> None:
        """The next bytes."""

    def is_whole(self, status: int, headers: Mapping[str, str]) -> bool:
        """Return whether an answer that is no success says that nothing is missing any more."""

    @property
    def taken(self) -> int:
        """How many bytes there are."""


@dataclass(frozen=True)
class Call:
    """One request. `changes` says that it writes, and so needs an Idempotency-Key to be sent again."""

    method: str
    path: str
    query: Query = field(default_factory=dict)
    body: Body | None = None
    accept: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    changes: bool = False
    into: Sink | None = None
    label: str = ""
    once: str | None = None
    """Its Idempotency-Key, where somebody must know it; else every call that `changes` gets one of its own."""
    abandoned: Call | None = None
    """What is sent, once, when whoever waits for the answer is interrupted."""

    @property
    def parameters(self) -> list[tuple[str, str | int | float | bool | None]]:
        """The query as the service reads it: lists repeated, truth values as words, nothing for None."""
        made: list[tuple[str, str | int | float | bool | None]] = []
        for name, value in self.query.items():
            if isinstance(value, (list, tuple)):
                made += [(name, each) for each in value]
            elif value is not None:
                made.append((name, _written(value)))
        return made


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Answer:
    """Successful response."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""

    def json(self, *needed: str) -> dict[str, Any]:
        """The members of the content, a JSON object as all of a service's are; those `needed` are among them."""
        try:
            members = json.loads(self.content)
        except ValueError:
            raise UnlikeService("what is not JSON") from None
        if not isinstance(members, dict):
            raise UnlikeService("JSON that is not an object")
        for name in needed:
            if name not in members:
                raise UnlikeService(f"an answer without `{name}`")
        return members

    def entries(self, name: str) -> list[dict[str, Any]]:
        """The member of this name, a list of objects."""
        return _listed(self.json(name)[name], name)


def _listed(entries: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise UnlikeService(f"`{name}` that are not a list of objects")
    return entries


@dataclass(frozen=True)
class ThreadTask:
    """Blocking work without network, which the asynchronous driver runs in a thread."""

    do: Callable[[], Any]


@dataclass(frozen=True)
class Pause:
    """A while until the next look at something."""

    seconds: float
    poll: Call


@dataclass(frozen=True)
class ProgressBar:
    """Request to show progress; the answer is a context whose value takes reports."""

    label: str


Step = Call | ThreadTask | Pause | ProgressBar
Flow = Generator[Step, Any, T]
"""An operation: requests out, each `Answer` in, a result at the end."""


def path_of(*parts: str) -> str:
    """The address under /v1 of a thing; a name may hold any character."""
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def get(*parts: str, **query: Scalar | Sequence[str]) -> Call:
    """A call that reads."""
    return Call("GET", path_of(*parts), query)


def send(method: str, *parts: str, form: Mapping[str, Any] | None = None) -> Call:
    """A call that writes, with a JSON body of what is not None."""
    said = None if form is None else {name: v for name, v in form.items() if v is not None}
    return Call(
        method, path_of(*parts), body=None if said is None else JsonBody(said), changes=True
    )


def revocable(call: Call) -> Call:
    """A call that writes and that is taken back when whoever waits for its answer is interrupted.

    By its Idempotency-Key: the service may be carrying it out, though no answer says so yet.
    """
    once = str(uuid.uuid4())
    back = Call("DELETE", path_of("requests"), {"idempotency_key": once})
    return replace(call, changes=True, once=once, abandoned=back)


def every(name: str, *parts: str, most: int | None = None, **query: Scalar) -> Flow[list[Any]]:
    """All entries of a list, page by page, or the first `most` of them."""
    found: list[Any] = []
    cursor: str | None = None
    while True:
        left = None if most is None else most - len(found)
        size = 1000 if left is None else min(left, 1000)
        answer: Answer = yield get(*parts, cursor=cursor, limit=size, **query)
        page = answer.json(name, "next_cursor")
        found += _listed(page[name], name)
        cursor = page["next_cursor"]
        if cursor is None or (most is not None and len(found) >= most):
            return found
