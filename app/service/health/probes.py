"""Whether what the service stands on works: looked at by writing to it, on threads of their own.

A look that hangs hangs alone: until it returns no other of its kind is begun, and whoever asks is
told after a moment that there is no answer.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import pyarrow as pa
from sqlalchemy.exc import SQLAlchemyError

from app.service.resources import Resources
from app.store.database import installation
from app.store.database.engine import reading, writing
from app.store.database.registered import datasets
from app.store.vault import SealBroken

FRESH_SECONDS = 1.0
"""For so long a look that went well counts for the next who asks."""

SAMPLE = 3
"""Blobs that a look opens."""


class Condition(StrEnum):
    """What a look found."""

    OK = "ok"
    INCOMPLETE = "incomplete"
    FAILING = "failing"
    NOT_CONFIGURED = "not configured"


class Probe:
    """One thing that is looked at."""

    def __init__(self, look: Callable[[], Condition]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._found: Future[Condition] | None = None
        self._until = 0.0

    def asked(self) -> Future[Condition]:
        """What is found, sooner or later."""
        with self._lock:
            old = self._found is not None and self._found.done()
            if self._found is None or (old and time.monotonic() > self._until):
                self._found = Future()
                threading.Thread(target=self._run, args=(self._found,), daemon=True).start()
            return self._found

    def _run(self, found: Future[Condition]) -> None:
        state = Condition.FAILING
        # Whatever went wrong, the answer is that it does not work.
        with suppress(Exception):
            state = self._look()
        self._until = time.monotonic() + FRESH_SECONDS if state is Condition.OK else 0.0
        found.set_result(state)


@dataclass(frozen=True)
class Probes:
    """What is looked at."""

    database: Probe
    blobs: Probe
    redis: Probe

    @classmethod
    def of(cls, resources: Resources) -> Probes:
        """The probes of a service."""
        return cls(
            Probe(lambda: look_at_the_database(resources)),
            Probe(lambda: look_at_the_blobs(resources)),
            Probe(lambda: look_at_redis(resources)),
        )


def look_at_the_database(resources: Resources) -> Condition:
    """Write to it: a full or read-only database answers and is of no use."""
    try:
        with writing(resources.probing) as connection:
            installation.touch(connection, datetime.now(UTC))
    except SQLAlchemyError:
        return Condition.FAILING
    return Condition.OK


def look_at_the_blobs(resources: Resources) -> Condition:
    """Write to the store, and open a few of the blobs that the database counts on."""
    try:
        resources.blobs.check()
    except OSError:
        return Condition.FAILING
    try:
        with reading(resources.probing) as connection:
            sample = datasets.some_blobs(connection, f"ds_{secrets.token_hex(10)}", SAMPLE)
    except SQLAlchemyError:
        return Condition.OK  # of the blobs; the database is told on its own
    opened = [_opens(resources, name) for name in sample]
    if opened and not any(opened):
        return Condition.FAILING
    return Condition.OK if all(opened) else Condition.INCOMPLETE


def look_at_redis(resources: Resources) -> Condition:
    """Ask it for an answer."""
    if resources.redis is None:
        return Condition.NOT_CONFIGURED
    return Condition.OK if resources.redis.works() else Condition.FAILING


def _opens(resources: Resources, name: str) -> bool:
    try:
        resources.blobs.row_count(name)
    except (OSError, SealBroken, pa.ArrowException):
        # A blob may have been removed since the database was asked: then nothing is amiss.
        with reading(resources.probing) as connection:
            return not datasets.refers_to(connection, name)
    return True
