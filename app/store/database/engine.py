"""The database engine, and the two ways to use it: reading and writing.

SQLite runs in WAL mode and every writer begins with BEGIN IMMEDIATE, so two writers queue instead
of failing halfway. On PostgreSQL a writer of a data set takes the lock of its row
(`store.datasets.locked`). Leaving the block without an error commits; an error rolls back.

Rights begin and end by one clock: the database's, which all processes share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool, QueuePool

from app.store.database.patience import (
    SILENT_SECONDS,
    connect_patiently,
    wait_as_long_as_it_takes,
    with_timeouts,
)

CONNECTIONS = 8
TIMEOUT_SECONDS = 30.0
PROBING_SECONDS = 3.0


def open_engine(
    url: str, *, connections: int = CONNECTIONS, timeout_seconds: float = TIMEOUT_SECONDS
) -> Engine:
    """An engine for `sqlite:///file` or `postgresql+psycopg://…`, never with more `connections`.

    How long it waits for what is said in `patience`.
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
    """An engine that keeps no connection and waits for nothing long: for looks at the database."""
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

    @event.listens_for(engine, "do_connect")
    def connect_with_patience(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
        return connect_patiently(timeout_seconds, *arguments, **options)

    @event.listens_for(engine, "checkin")
    def be_patient_again(raw: Any, _record: Any) -> None:
        if raw is not None:
            raw.patience_seconds = timeout_seconds + SILENT_SECONDS

    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """What is committed: on SQLite as of the first statement, on PostgreSQL as of each; nothing is
    kept."""
    with engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """All that was committed at one moment, however long it is looked at."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            wait_as_long_as_it_takes(connection)
            yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One writer: committed when the block ends well, rolled back when it does not."""
    afterwards: list[Callable[[], None]] = []
    options = {"cornerwave_writer": True, "cornerwave_afterwards": afterwards}
    opened = engine.connect().execution_options(**options)
    with opened as connection, connection.begin():
        yield connection
    for call in afterwards:
        call()


def after_commit(connection: Connection, call: Callable[[], None]) -> None:
    """Have something done once what is being written is committed, and only then."""
    afterwards: list[Callable[[], None]] = connection.get_execution_options()[
        "cornerwave_afterwards"
    ]
    afterwards.append(call)


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
    """What time it is now for the database; on SQLite that is the machine that has the file."""
    if connection.dialect.name == "postgresql":
        # Not now(), which is the moment the transaction began.
        now: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return now.astimezone(UTC)
    said = connection.execute(text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")).scalar_one()
    return datetime.fromisoformat(str(said)).replace(tzinfo=UTC)
