"""Health of database, Redis and disk, and what a failure means: outage, full disk or defect.

It is looked at by writing to it, on threads of their own. A look that hangs hangs alone: until it returns no other
of its kind is begun, and the answer to later requests is a timeout.

Of a failure only the kind is looked at. Its message may hold the address of a database, or a value.

A log says of a failure its type and the places it passed, for the same reason.
"""

from __future__ import annotations

import errno
import secrets
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import pyarrow as pa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from app.errors import Busy, StorageFull, Unavailable
from app.service.resources import Resources
from app.store.database import installation
from app.store.database.datasets import datasets
from app.store.database.engine import reading, writing
from app.store.vault import SealBroken

FULL = {errno.ENOSPC, errno.EDQUOT}
GONE = {
    errno.EROFS,
    errno.EIO,
    errno.ESTALE,
    errno.ENODEV,
    errno.ENXIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTCONN,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ECONNREFUSED,
    errno.ETIMEDOUT,
}
"""What the blob store's operating system says when it cannot be read or written at present."""

SQLITE_FULL, POSTGRES_FULL = "SQLITE_FULL", "53100"
SQLITE_OUTAGES = ("SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_BUSY")
POSTGRES_OUTAGES = ("25006", "25P03")
"""Read-only, and ended for doing nothing; the others are operational errors to the driver."""

DATABASE = "The database cannot be used at present, or did not answer in time; nothing was changed."
BLOBS = "The blob store cannot be used at present; nothing was changed."
DISK = "There is no room left where the service keeps its data; nothing was changed."


def outage_of(error: BaseException) -> Unavailable | Busy | None:
    """Return the outage behind an exception of the database or the disk, None for any other."""
    if isinstance(error, NoConnectionFree):
        return Busy("Every connection to the database is at work.", seconds=2)
    if isinstance(error, DBAPIError):
        return _database_outage(error)
    if isinstance(error, OSError):
        if error.errno in FULL:
            return StorageFull(DISK, seconds=60)
        if error.errno in GONE:
            return Unavailable(BLOBS, seconds=10)
    return None


def _database_outage(error: DBAPIError) -> Unavailable | None:
    state = getattr(error.orig, "sqlstate", None)
    name = str(getattr(error.orig, "sqlite_errorname", ""))
    if state == POSTGRES_FULL or name.startswith(SQLITE_FULL):
        return StorageFull(DISK, seconds=60)
    lost = error.connection_invalidated or state in POSTGRES_OUTAGES
    # SQLite says OperationalError also of what is wrong with a statement.
    of_sqlite = name.startswith(SQLITE_OUTAGES)
    of_postgres = isinstance(error, OperationalError | InterfaceError) and not name
    return Unavailable(DATABASE, seconds=5) if lost or of_sqlite or of_postgres else None


def places_of(error: BaseException) -> list[str]:
    """The exception's type and the places it passed. Its message may hold a data value."""
    places = [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    return [type(error).__name__, *places]


FRESH_SECONDS = 1.0
"""Seconds for which a successful probe is cached."""

SAMPLE = 3
"""Blobs that a look opens."""


class Condition(StrEnum):
    """State of a dependency."""

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
        """Return the future finding."""
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
    """Probes of the dependencies."""

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
        resources.blobs.place.check()
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
