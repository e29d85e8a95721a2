"""The database engine, and the two ways to use it: reading and writing.

SQLite runs in WAL mode and every writer begins with BEGIN IMMEDIATE, so two writers queue instead
of failing halfway. On PostgreSQL a writer of a data set takes the lock of its row
(`store.datasets.locked`). Leaving the block without an error commits; an error rolls back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url

BUSY_SECONDS = 60


def open_engine(url: str) -> Engine:
    """An engine for `sqlite:///file` or `postgresql+psycopg://…`."""
    if make_url(url).get_backend_name() == "sqlite":
        engine = create_engine(
            url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    return create_engine(url, pool_pre_ping=True, pool_size=16, max_overflow=16)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """What is committed: on SQLite as of the first statement, on PostgreSQL as of each; nothing is
    kept."""
    with engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One writer: committed when the block ends well, rolled back when it does not."""
    opened = engine.connect().execution_options(cornerwave_writer=True)
    with opened as connection, connection.begin():
        yield connection


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
