"""A request that a job answers: who asked, known before, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from app.api.transport.callers import key_of
from app.service.asking import Ask
from app.service.jobs.progress import SHARES, SILENT, Progress
from app.store.database.sharing.callers import public_id

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
READING = 50
"""Of SHARES of the work, what reading the body takes where nothing else is said."""


@dataclass
class Replay:
    """What a job brings beside the request; `key_id` is the public id of the key that asked for it."""

    ask: Ask
    progress: Progress
    key_id: str = ""
    reading: int = READING

    def tell_reading(self, done: int, total: int) -> None:
        """How much of the body was read."""
        self.progress.share(0, self.reading).tell("reading the table", done, total)


def can_be_long(reading: int = READING) -> Callable[[Endpoint], Endpoint]:
    """Mark a route whose answer a caller may prefer later; `reading` the body is so much of the work."""

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.reading = reading  # type: ignore[attr-defined]  # a mark on a function
        return endpoint

    return mark


def reading_share(endpoint: Callable[..., Any]) -> int | None:
    """The share that reading takes; None for a route that is never long."""
    share: int | None = getattr(endpoint, "reading", None)
    return share


def replay_of(request: Request) -> Replay | None:
    """What the job brought, where a job sends this request."""
    replay: Replay | None = request.scope.get("state", {}).get("replay")
    return replay


def key_id_of(request: Request) -> str:
    """The public id of the key that asks, or asked for the job that sends this request."""
    replay = replay_of(request)
    return public_id(key_of(request) or "") if replay is None else replay.key_id


def get_progress(request: Request) -> Progress:
    """Where the work of this request tells how far it is."""
    replay = replay_of(request)
    return SILENT if replay is None else replay.progress.share(replay.reading, SHARES)


ProgressHere = Annotated[Progress, Depends(get_progress)]
