"""Variants of drawn requests: recombined, redirected to existing resources, mutated.

No two of one turn are the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import quote

from trials.environment.fixtures import Fixtures
from trials.fuzzing.mutations import mutated

ABOUT_WHAT_EXISTS, OF_THE_RECIPIENT, CHANGED = 0.7, 0.15, 0.5
TRIES = 20
"""Attempts to find a new variant; operations without parameters have few."""

ODD = [
    *("", "0", "-1", "-0", "1", "0.5", "1e999", "-1e-999", "NaN", "Infinity", "9" * 40, "0x10"),
    *("true", "False", "null", "[]", "{}", "[[", '"', "'", ";", "a,b", ",,", "*", "%", "=", "+"),
    *("..", "../..", "/", "\\", "a" * 3000, "\x00", "\n", "\u202e", "\ud800", "é", "😀", "\uffff"),
    *("0:0", "5:1", "0:99999999999999999999", "-1:3", ":", "1:", "2024-02-30", "9999-12-31"),
    *("0001-01-01T00:00:00+23:59", "P1D", "P-1Y", "utf-16", "utf-7", "idna", "rot13", "met"),
]
"""Edge cases for any parameter."""

HEADERS = {
    "Accept": ["text/csv", "application/json", "image/svg+xml", "image/png", "*/*;q=0", "x", ",;q"],
    "Accept-Encoding": ["gzip", "identity;q=0", "*;q=0", "br, gzip;q=nan"],
    "Content-Encoding": ["gzip", "identity", "br", "gzip, gzip"],
    "Content-Type": [
        *("text/csv", "application/json", "application/vnd.apache.parquet", "text/csv;charset=x"),
        *("multipart/form-data", "multipart/form-data; boundary=", "application/octet-stream", "/"),
    ],
    "Idempotency-Key": ["a", "a" * 300, "é", '"one"'],
    "If-Match": ["*", '"a"'],
    "If-None-Match": ["*", '"a"', 'W/"a", "b"', ","],
    "If-Range": ['"a"', "Tue, 17 Nov 2026 12:00:00 GMT"],
    "Last-Event-ID": ["0", "-1", "a", "9" * 30],
    "Origin": ["null", "http://elsewhere.example"],
    "Prefer": ["respond-async", "wait=0", "wait=1", "wait=-1", "wait=a", "respond-async, wait=1"],
    "Range": [
        "bytes=0-9",
        "bytes=-5",
        "bytes=9-",
        "bytes=5-1",
        "bytes=0-0,3-4",
        "rows=1",
        "bytes=",
    ],
    "traceparent": ["00-" + "0" * 32 + "-" + "0" * 16 + "-01", "a"],
    "X-Request-Id": ["a", "é", "a" * 500],
}
"""Meaningful headers with edge cases."""


@dataclass(frozen=True)
class Message:
    """An HTTP request."""

    label: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes

    @property
    def method(self) -> str:
        return self.label.partition(" ")[0]

    @property
    def template(self) -> str:
        return self.label.partition(" ")[2]

    @property
    def content(self) -> tuple[object, ...]:
        """What reports it from another of its operation."""
        return self.path, self.query, tuple(sorted(self.headers.items())), self.body


def different(
    drawn: list[Message], each: int, fixtures: Fixtures, rng: random.Random
) -> list[Message]:
    """The drawn messages and at most so many variants of each, every one of them once."""
    there = {one.content: one for one in drawn}
    for one in drawn:
        for _ in range(each):
            for _ in range(TRIES):
                found = variant(one, drawn, fixtures, rng)
                if found.content not in there:
                    there[found.content] = found
                    break
    return list(there.values())


def variant(one: Message, drawn: list[Message], fixtures: Fixtures, rng: random.Random) -> Message:
    """The message with parts of others, more often than not about something that exists."""
    made = replace(
        one,
        path=rng.choice(drawn).path,
        query=rng.choice(drawn).query,
        headers=rng.choice(drawn).headers,
    )
    if "{" in one.template and rng.random() < ABOUT_WHAT_EXISTS:
        path = one.template
        for name, value in fixtures.ids.items():
            path = path.replace(f"{{{name}}}", value)
        if "{" not in path:
            made = replace(made, path=path)
    if rng.random() < OF_THE_RECIPIENT:
        key = {"Authorization": f"Bearer {fixtures.recipient_key}"}
        made = replace(made, headers=made.headers | key)
    if made.body and rng.random() < CHANGED:
        made = replace(made, body=mutated(made.body, rng))
    if rng.random() < (CHANGED if made.query else CHANGED / 5):
        change = rng.choice(QUERIES) if made.query else with_unknown
        made = replace(made, query=change(made.query, rng))
    if rng.random() < CHANGED:
        made = replace(made, headers=made.headers | odd_header(rng))
    if "{" in one.template and rng.random() < CHANGED / 5:
        made = replace(made, path=odd_segment(made.path, rng))
    return made


def odd(rng: random.Random) -> str:
    """Return an edge case, URL-encoded; a lone surrogate as its bytes."""
    return quote(rng.choice(ODD), safe="", errors="surrogatepass")


def without(query: str, rng: random.Random) -> str:
    """Drop one parameter."""
    parameters = query.split("&")
    del parameters[rng.randrange(len(parameters))]
    return "&".join(parameters)


def twice(query: str, rng: random.Random) -> str:
    """Repeat one parameter."""
    return f"{query}&{rng.choice(query.split('&'))}"


def with_odd(query: str, rng: random.Random) -> str:
    """Give one parameter an edge case."""
    parameters = query.split("&")
    at = rng.randrange(len(parameters))
    parameters[at] = f"{parameters[at].partition('=')[0]}={odd(rng)}"
    return "&".join(parameters)


def with_unknown(query: str, rng: random.Random) -> str:
    """Add an unknown parameter."""
    return f"{query}&" * bool(query) + f"x{rng.randrange(1000)}={odd(rng)}"


QUERIES: list[Callable[[str, random.Random], str]] = [
    without,
    twice,
    with_odd,
    with_odd,
    with_odd,
    with_unknown,
]


def odd_header(rng: random.Random) -> dict[str, str]:
    name = rng.choice(list(HEADERS))
    return {name: rng.choice(HEADERS[name])}


def odd_segment(path: str, rng: random.Random) -> str:
    """Replace one segment of the path."""
    segments = path.split("/")
    segments[rng.randrange(1, len(segments))] = odd(rng)
    return "/".join(segments)
