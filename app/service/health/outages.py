"""What a failure of the things around the service means: an outage, a full disk, or a fault of ours.

Only the kind of the error is looked at. Its message may hold the address of a database, or a value.

A log says of a failure its type and the places it passed, for the same reason.
"""

from __future__ import annotations

import errno
import traceback

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from app.errors import Busy, StorageFull, Unavailable

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
    """What to tell the caller, when the failure is one of the database's or the disk's."""
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
