"""How long the database is waited for: everywhere, and never for ever.

PostgreSQL itself ends what takes too long, as long as it runs. One that is paused, or cut off
without a word, ends nothing: so the driver, too, gives up a connection that stays silent.

With t seconds of patience:

| what | ends after | so that |
|---|---|---|
| a transaction that does nothing | t/2 | a stuck process lets go of its locks while others still wait for them |
| a wait for a lock | 2t/3 | |
| a statement | t | |
| a connection that does not answer | t + 5 | the server, if it lives, has spoken first |
| a connection that is not made | at most 5 | |
| a wait for a connection of this process | t/3 | load is shed rather than queued |
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from sqlalchemy import Connection
from sqlalchemy.engine import URL

CONNECT_SECONDS = 5
SILENT_SECONDS = 5

T = TypeVar("T")


class PatientConnection(psycopg.Connection[Any]):
    """A connection that is closed when the server does not answer in time."""

    patience_seconds: float | None = None

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        if self.patience_seconds is not None:
            gen = self._bounded(gen, time.monotonic() + self.patience_seconds)
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


def connect_patiently(seconds: float, *arguments: Any, **options: Any) -> PatientConnection:
    """A connection to PostgreSQL that waits as the table above says."""
    options.setdefault("connect_timeout", CONNECT_SECONDS)
    connection: PatientConnection = PatientConnection.connect(*arguments, **options)
    connection.patience_seconds = seconds + SILENT_SECONDS
    return connection


def with_timeouts(url: URL, seconds: float) -> URL:
    """The URL of a PostgreSQL, with what its sessions begin with."""
    said = url.query.get("options", "")
    given = said if isinstance(said, str) else " ".join(said)
    timeouts = {
        "idle_in_transaction_session_timeout": seconds / 2,
        "lock_timeout": 2 * seconds / 3,
        "statement_timeout": seconds,
    }
    ours = " ".join(f"-c {name}={int(1000 * limit)}" for name, limit in timeouts.items())
    # What the operator says in the URL comes last and so wins.
    return url.update_query_dict({"options": f"{ours} {given}".strip()})


def wait_as_long_as_it_takes(connection: Connection) -> None:
    """For what an operator asks for once, such as a migration: this transaction is not hurried."""
    if connection.dialect.name != "postgresql":
        return
    raw: Any = connection.connection.dbapi_connection
    raw.patience_seconds = None  # until the connection goes back to its pool
    for name in ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"):
        connection.exec_driver_sql(f"SET LOCAL {name} = 0")
