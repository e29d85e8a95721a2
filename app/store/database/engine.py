"""Database engine: connection pool, timeouts, read and write transactions, row locks, column types.

SQLite runs in WAL mode and every writer begins with BEGIN IMMEDIATE, so two writers queue instead
of failing halfway. On PostgreSQL a writer of a data set takes the lock of its row
(`lock` of `datasets/datasets.py`). Leaving the block without an error commits; an error rolls back.

Rights begin and end by one clock: the database's, which all processes share.

The database is waited for everywhere, and never for ever. PostgreSQL itself ends what takes too long, as long as
it runs. One that is paused, or cut off without a word, ends nothing: so the driver, too, gives up a connection
that stays silent.

With a timeout of t seconds:

| what | ends after | so that |
|---|---|---|
| a transaction that does nothing | t/3 | the locks of a stuck process are released while others still wait for them |
| a wait for a lock, in the process and then in the database | 2t/3 each | |
| a statement | t | |
| a connection that does not answer | t + 5 | the server, if it lives, has spoken first |
| a connection that is not made | at most 5 | |
| a wait for a connection of this process | t/3 | load is shed rather than queued |

A process has one waiter in the database's queue for a lock (`lock_row`). Otherwise a process that is stopped
would get the lock once for each of its waiters, and keep it t/3 each time.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from sqlalchemy import (
    JSON,
    Connection,
    DateTime,
    Dialect,
    Engine,
    Result,
    Select,
    String,
    TypeDecorator,
    create_engine,
    event,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool, QueuePool

from app.agreement import Channel, Delivery

CONNECT_SECONDS = 5
SILENT_SECONDS = 5
IDLE_SHARE, LOCK_SHARE = 1 / 3, 2 / 3

T = TypeVar("T")


class TimeoutConnection(psycopg.Connection[Any]):
    """Connection that is closed when the server does not answer in time."""

    timeout_seconds: float | None = None

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        if self.timeout_seconds is not None:
            gen = self._bounded(gen, time.monotonic() + self.timeout_seconds)
        return super().wait(gen, *args, **options)

    def _bounded(self, gen: Generator[Any, Any, T], deadline: float) -> Generator[Any, Any, T]:
        """The same generator; psycopg comes back to it several times a second, answer or not."""
        ready = None
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as done:
                value: T = done.value
                return value
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                self.close()
                raise psycopg.OperationalError("the server did not answer in time")


def connect_with_timeouts(seconds: float, *arguments: Any, **options: Any) -> TimeoutConnection:
    """Connect to PostgreSQL with the timeouts of the table above."""
    options.setdefault("connect_timeout", CONNECT_SECONDS)
    connection: TimeoutConnection = TimeoutConnection.connect(*arguments, **options)
    connection.timeout_seconds = seconds + SILENT_SECONDS
    return connection


def with_timeouts(url: URL, seconds: float) -> URL:
    """Return the URL of a PostgreSQL with the timeouts of its sessions."""
    said = url.query.get("options", "")
    given = said if isinstance(said, str) else " ".join(said)
    timeouts = {
        "idle_in_transaction_session_timeout": seconds * IDLE_SHARE,
        "lock_timeout": seconds * LOCK_SHARE,
        "statement_timeout": seconds,
    }
    ours = " ".join(f"-c {name}={int(1000 * limit)}" for name, limit in timeouts.items())
    # What the operator says in the URL comes last and so wins.
    return url.update_query_dict({"options": f"{ours} {given}".strip()})


def disable_timeouts(connection: Connection) -> None:
    """Disable the timeouts of this transaction, for operator commands such as a migration."""
    if connection.dialect.name != "postgresql":
        return
    raw: Any = connection.connection.dbapi_connection
    raw.timeout_seconds = None  # until the connection goes back to its pool
    for name in ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"):
        connection.exec_driver_sql(f"SET LOCAL {name} = 0")


CONNECTIONS = 8
TIMEOUT_SECONDS = 30.0
PROBING_SECONDS = 3.0


def open_engine(
    url: str, *, connections: int = CONNECTIONS, timeout_seconds: float = TIMEOUT_SECONDS
) -> Engine:
    """Open an engine for `sqlite:///file` or `postgresql+psycopg://…` with at most `connections`.

    Timeouts follow from `timeout_seconds` by the table above.
    """
    return _engine(
        url,
        timeout_seconds,
        {
            "poolclass": QueuePool,
            "pool_size": connections,
            "max_overflow": 0,
            "pool_timeout": timeout_seconds / 3,
            "pool_pre_ping": True,
        },
    )


def open_probing_engine(url: str) -> Engine:
    """Open an engine without a pool and with short timeouts, for health probes."""
    return _engine(url, PROBING_SECONDS, {"poolclass": NullPool})


def _engine(url: str, timeout_seconds: float, pool: dict[str, Any]) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        connect = {"timeout": timeout_seconds, "check_same_thread": False}
        engine = create_engine(url, connect_args=connect, **pool)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    engine = create_engine(with_timeouts(parsed, timeout_seconds), **pool)
    _row_locks[engine] = RowLocks(timeout_seconds)

    @event.listens_for(engine, "do_connect")
    def open_connection(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
        return connect_with_timeouts(timeout_seconds, *arguments, **options)

    @event.listens_for(engine, "checkin")
    def restore_timeout(raw: Any, _record: Any) -> None:
        if raw is not None:
            raw.timeout_seconds = timeout_seconds + SILENT_SECONDS

    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """What is committed: on SQLite as of the first statement, on PostgreSQL as of each; nothing is
    kept."""
    with engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Read transaction with a snapshot: all that was committed at one moment."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            disable_timeouts(connection)
            yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Write transaction: committed when the block ends, rolled back on an exception."""
    afterwards: list[Callable[[], None]] = []
    held: dict[str, threading.Lock] = {}
    options = {
        "cornerwave_writer": True,
        "cornerwave_afterwards": afterwards,
        "cornerwave_held": held,
    }
    opened = engine.connect().execution_options(**options)
    try:
        with opened as connection, connection.begin():
            yield connection
    finally:
        for lock in held.values():
            lock.release()
    for call in afterwards:
        call()


def after_commit(connection: Connection, call: Callable[[], None]) -> None:
    """Call a function after the transaction has committed."""
    afterwards: list[Callable[[], None]] = connection.get_execution_options()[
        "cornerwave_afterwards"
    ]
    afterwards.append(call)


class RowLocks:
    """Row locks within one process, by name."""

    def __init__(self, timeout_seconds: float) -> None:
        self._wait_seconds = timeout_seconds * LOCK_SHARE
        self._beat_seconds = timeout_seconds * IDLE_SHARE / 3
        self._gate = threading.Lock()
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def acquire(self, connection: Connection, name: str) -> threading.Lock:
        """Wait until no other transaction of this process has, or waits for, the lock of that name."""
        with self._gate:
            lock = self._locks[name]
        deadline = time.monotonic() + self._wait_seconds
        while not lock.acquire(timeout=self._beat_seconds):
            if time.monotonic() > deadline:
                late = psycopg.errors.LockNotAvailable("lock timeout in this process")
                raise OperationalError(f"lock {name}", None, late)
            # What waits is not idle, as long as the process runs.
            connection.exec_driver_sql("SELECT 1")
        return lock


_row_locks: WeakKeyDictionary[Engine, RowLocks] = WeakKeyDictionary()


def lock_row(connection: Connection, name: str, query: Select[Any]) -> Result[Any]:
    """Lock a row to the end of what is being written, by a `query` for update; `name` is the row's.

    On SQLite a writing transaction is the only one already.
    """
    row_locks = _row_locks.get(connection.engine)
    held: dict[str, threading.Lock] | None = connection.get_execution_options().get(
        "cornerwave_held"
    )
    if row_locks is not None and held is not None and name not in held:
        held[name] = row_locks.acquire(connection, name)
    return connection.execute(query)


def _prepare_sqlite(raw: Any, _record: Any) -> None:
    # The driver must not begin transactions by itself: _begin_sqlite does.
    raw.isolation_level = None
    cursor = raw.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    # FULL: a commit that was reported is on the disk. A history entry must outlive a power cut
    # that happens after the first byte of its copy left.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writer = connection.get_execution_options().get("cornerwave_writer", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writer else "BEGIN")


def moment(connection: Connection) -> datetime:
    """Return the database's time; on SQLite that of this machine."""
    if connection.dialect.name == "postgresql":
        # Not now(), which is the moment the transaction began.
        now: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return now.astimezone(UTC)
    said = connection.execute(text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")).scalar_one()
    return datetime.fromisoformat(str(said)).replace(tzinfo=UTC)


class Instant(TypeDecorator[datetime]):
    """Timestamp in UTC, also on SQLite, which stores no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("a moment needs a zone")
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Enumeration(TypeDecorator[StrEnum]):
    """Member of an enumeration, stored as its value."""

    impl = String
    cache_ok = True

    def __init__(self, members: type[StrEnum], length: int = 20) -> None:
        super().__init__(length)
        self.members = members

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> StrEnum | None:
        return None if value is None else self.members(value)


class Strings(TypeDecorator[tuple[str, ...]]):
    """Tuple of strings, or None, stored as JSON."""

    impl = JSON(none_as_null=True)
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> list[str] | None:
        return None if value is None else list(value)

    def process_result_value(
        self, value: list[str] | None, dialect: Dialect
    ) -> tuple[str, ...] | None:
        return None if value is None else tuple(value)


class Deliveries(TypeDecorator[tuple[Delivery, ...]]):
    """Agreed ways of delivery, stored as JSON."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> list[list[str | None]] | None:
        return None if value is None else [[one.channel.value, one.target] for one in value]

    def process_result_value(self, value: Any, dialect: Dialect) -> tuple[Delivery, ...] | None:
        if value is None:
            return None
        return tuple(Delivery(Channel(channel), target) for channel, target in value)
