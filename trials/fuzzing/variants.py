"""Variants of drawn requests: their parts crossed, moved to what exists, and changed a little.

Of one turn no two are the same: a request that was sent already shows nothing new.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import quote

from trials.fuzzing.mutations import mutated
from trials.stage.furnishing import Furnished

ABOUT_WHAT_EXISTS, OF_THE_RECIPIENT, CHANGED = 0.7, 0.15, 0.5
TRIES = 20
"""To find a variant that was not there yet; an operation without parameters has not many."""

ODD = [
    *("", "0", "-1", "-0", "1", "0.5", "1e999", "-1e-999", "NaN", "Infinity", "9" * 40, "0x10"),
    *("true", "False", "null", "[]", "{}", "[[", '"', "'", ";", "a,b", ",,", "*", "%", "=", "+"),
    *("..", "../..", "/", "\\", "a" * 3000, "\x00", "\n", "\u202e", "\ud800", "é", "😀", "\uffff"),
    *("0:0", "5:1", "0:99999999999999999999", "-1:3", ":", "1:", "2024-02-30", "9999-12-31"),
    *("0001-01-01T00:00:00+23:59", "P1D", "P-1Y", "utf-16", "utf-7", "idna", "rot13", "met"),
]
"""Values that somebody may have forgotten, for any parameter."""

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
"""Headers that mean something, with what may be said in them."""


@dataclass(frozen=True)
class Message:
    """A request as it is sent."""

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
        """What tells it from another of its operation."""
        return self.path, self.query, tuple(sorted(self.headers.items())), self.body


def different(
    drawn: list[Message], each: int, present: Furnished, chance: random.Random
) -> list[Message]:
    """The drawn messages and at most so many variants of each, every one of them once."""
    there = {one.content: one for one in drawn}
    for one in drawn:
        for _ in range(each):
            for _ in range(TRIES):
                found = variant(one, drawn, present, chance)
                if found.content not in there:
                    there[found.content] = found
                    break
    return list(there.values())


def variant(
    one: Message, drawn: list[Message], present: Furnished, chance: random.Random
) -> Message:
    """The message with parts of others, more often than not about something that exists."""
    made = replace(
        one,
        path=chance.choice(drawn).path,
        query=chance.choice(drawn).query,
        headers=chance.choice(drawn).headers,
    )
    if "{" in one.template and chance.random() < ABOUT_WHAT_EXISTS:
        path = one.template
        for name, value in present.ids.items():
            path = path.replace(f"{{{name}}}", value)
        if "{" not in path:
            made = replace(made, path=path)
    if chance.random() < OF_THE_RECIPIENT:
        key = {"Authorization": f"Bearer {present.recipient_key}"}
        made = replace(made, headers=made.headers | key)
    if made.body and chance.random() < CHANGED:
        made = replace(made, body=mutated(made.body, chance))
    if chance.random() < (CHANGED if made.query else CHANGED / 5):
        change = chance.choice(QUERIES) if made.query else with_unknown
        made = replace(made, query=change(made.query, chance))
    if chance.random() < CHANGED:
        made = replace(made, headers=made.headers | odd_header(chance))
    if "{" in one.template and chance.random() < CHANGED / 5:
        made = replace(made, path=odd_segment(made.path, chance))
    return made


def odd(chance: random.Random) -> str:
    """An odd value as it stands in an address; a lone surrogate as the bytes that it would be."""
    return quote(chance.choice(ODD), safe="", errors="surrogatepass")


def without(query: str, chance: random.Random) -> str:
    """One parameter is left out."""
    parameters = query.split("&")
    del parameters[chance.randrange(len(parameters))]
    return "&".join(parameters)


def twice(query: str, chance: random.Random) -> str:
    """One parameter is said twice."""
    return f"{query}&{chance.choice(query.split('&'))}"


def with_odd(query: str, chance: random.Random) -> str:
    """One parameter has an odd value."""
    parameters = query.split("&")
    at = chance.randrange(len(parameters))
    parameters[at] = f"{parameters[at].partition('=')[0]}={odd(chance)}"
    return "&".join(parameters)


def with_unknown(query: str, chance: random.Random) -> str:
    """One parameter more, that nobody knows."""
    return f"{query}&" * bool(query) + f"x{chance.randrange(1000)}={odd(chance)}"


QUERIES: list[Callable[[str, random.Random], str]] = [
    without,
    twice,
    with_odd,
    with_odd,
    with_odd,
    with_unknown,
]


def odd_header(chance: random.Random) -> dict[str, str]:
    name = chance.choice(list(HEADERS))
    return {name: chance.choice(HEADERS[name])}


def odd_segment(path: str, chance: random.Random) -> str:
    """One segment of the path is another one."""
    segments = path.split("/")
    segments[chance.randrange(1, len(segments))] = odd(chance)
    return "/".join(segments)
